#!/usr/bin/env node
// Starts the command, which a package of its own carries for each platform, and ends as it does.
'use strict'
const { spawn } = require('node:child_process')
const { optionalDependencies, version } = require('./package.json')

const windows = process.platform === 'win32'
const carrier = `@sdd-eval/${process.platform}-${process.arch}`

function fail(cause, next) {
  console.error(`sdd-eval: ${cause}\nnext: ${next}`)
  process.exit(3)
}

let program
try {
  program = require.resolve(`${carrier}/sdd-eval${windows ? '.exe' : ''}`)
} catch {
  if (carrier in optionalDependencies) {
    fail(`the package ${carrier} is not installed`, `npm install --include=optional sdd-eval@${version}`)
  }
  fail(`there is no package ${carrier}, only ${Object.keys(optionalDependencies).join(', ')}`,
    `go install github.com/sdd-eval/sdd-eval/cmd/sdd-eval@v${version}`)
}
let child
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
  // On Windows the console tells both, and kill would end the command without order.
  process.on(signal, () => windows || child.kill(signal))
}
child = spawn(program, process.argv.slice(2), { stdio: 'inherit' })
child.on('error', err => fail(`start ${program}: ${err.message}`, `npm install sdd-eval@${version}`))
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 3 // for a signal that does not end this process
  if (signal) {
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  }
})

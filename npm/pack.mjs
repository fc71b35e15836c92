// node npm/pack.mjs DIST OUT: makes the npm packages of a release from what goreleaser wrote to DIST, each in a directory
// of OUT: sdd-eval, and @sdd-eval/PLATFORM for each platform, one of which npm installs with it.
import { chmodSync, copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [dist, out] = process.argv.slice(2)
const read = name => JSON.parse(readFileSync(join(dist, name), 'utf8'))
const { version } = read('metadata.json')

function make(name, files, manifest) {
  const dir = join(out, name)
  mkdirSync(dir, { recursive: true })
  for (const [to, from] of Object.entries({ LICENSE: 'LICENSE', 'README.md': 'README.md', ...files })) {
    copyFileSync(from, join(dir, to))
  }
  writeFileSync(join(dir, 'package.json'), JSON.stringify({
    name, version, license: 'Apache-2.0', description: 'Tests for coding agents',
    repository: { type: 'git', url: 'git+https://github.com/sdd-eval/sdd-eval.git' },
    publishConfig: { access: 'public' }, ...manifest,
  }, null, 2) + '\n')
  return dir
}

const optionalDependencies = {}
for (const { type, name: file, path, goos, goarch } of read('artifacts.json')) {
  if (type !== 'Binary') continue
  const os = { windows: 'win32' }[goos] ?? goos
  const cpu = { amd64: 'x64' }[goarch] ?? goarch
  const name = `@sdd-eval/${os}-${cpu}`
  chmodSync(join(make(name, { [file]: path }, { os: [os], cpu: [cpu] }), file), 0o755)
  optionalDependencies[name] = version
}
if (version === undefined || Object.keys(optionalDependencies).length === 0) throw new Error(`${dist} has no binaries`)
make('sdd-eval', { 'sdd-eval.js': 'npm/sdd-eval.js' }, { bin: 'sdd-eval.js', engines: { node: '>=18' }, optionalDependencies })

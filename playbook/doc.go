// Package playbook reads playbooks: YAML files that say what coding agents are asked to do, which agents in which
// configurations, and what must hold afterwards.
//
//	task:
//	  title: Fix the bug
//	  prompt: The test of package shop fails. Find out why and fix it.
//	variants:
//	  claude: {agent: {kind: claude-code-acp, preset: production}}
//	workflow:
//	  jobs:
//	    eval:
//	      strategy: {matrix: {variant: [claude]}}
//	      steps:
//	        - uses: builtin:sdd-eval/workspace.prepare
//	        - uses: builtin:sdd-eval/acp.prompt
//	        - run: go test ./...
//
// [Load] is strict, since what is ignored in a test can make it pass: it refuses unknown keys, wrong types and anything
// that could have no effect, and reports all errors of a file at once, each with its position. A [Playbook] has the
// file's contents, [Playbook.Plan] what follows from them: jobs in their order and units, the single trials of each
// case with each variant.
//
// An eval file is an alternative to a playbook: questions under the key evalcases, without jobs. It is read as a
// playbook that asks each of its variants each question.
//
// Which types of evaluators there are is up to the caller, who passes their [Kinds].
package playbook

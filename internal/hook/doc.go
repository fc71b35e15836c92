// Package hook is what Claude Code's hooks run: it captures tool calls, and keeps them to a policy.
//
//	code := hook.Hook{Phase: hook.Pre, Stdin: stdin, Stdout: stdout, Stderr: stderr, ...}.Run()
//
// A hook is a process that Claude Code starts before and after each tool call with a payload on its standard input. Ours
// appends a line to a capture, which package capture reads. It does so only in a test, that is with TEST_MODE=true or
// EVALTEST_CAPTURE, and it never stands in the agent's way: whatever happens to it, it exits with 0. What went wrong
// stands in a file beside the capture and makes reading that an error. Only a [Policy] exits with 2, by which Claude Code
// knows that a call is not to be.
//
// [Merge] and [Without] put hooks into Claude Code's settings and take them out, [Edit] does so in a file. A harness that
// drives an agent writes what [Settings] returns and starts it with the variables of a [Target].
package hook

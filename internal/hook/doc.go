// Package hook is what Claude Code's hooks run: it captures tool calls, and applies a policy to them.
//
//	code := hook.Hook{Phase: hook.Pre, Stdin: stdin, Stdout: stdout, Stderr: stderr, ...}.Run()
//
// A hook is a process that Claude Code starts before and after each tool call with a payload on its standard input.
// Ours appends a line to a capture, which package capture reads. It does so only in a test, that is with TEST_MODE=true
// or EVALTEST_CAPTURE, and it never gets in the agent's way: whatever goes wrong, it exits with 0. Its errors go to a
// file beside the capture and make reading the capture an error. Only if a [Policy] denies the call does it exit with
// 2, which tells Claude Code.
//
// [Merge] and [Without] add hooks to Claude Code's settings and remove them, [Edit] does so in a file. A harness that
// drives an agent writes what [Settings] returns and starts it with the variables of a [Target].
package hook

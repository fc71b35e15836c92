// Package hook is what Claude Code's hooks run: it captures tool calls, and applies a policy to them. Reading a capture
// belongs in package capture.
//
//	code := hook.Hook{Phase: claude.Pre, Stdin: stdin, Stdout: stdout, Stderr: stderr, ...}.Run()
//
// A hook is a process that Claude Code starts before and after each tool call with a payload on its standard input.
// This one appends a line to a capture. It does so only in a test, that is with TEST_MODE=true or EVALTEST_CAPTURE, and
// it never disturbs the agent: whatever goes wrong, it exits with 0. Its errors go to a file beside the capture and
// make reading the capture an error. Only if a [Policy] denies the call does it exit with 2, which tells Claude Code
// so.
//
// [Merge] and [Without] add hooks to Claude Code's settings and remove them; [Edit] changes a file of settings. A
// harness that drives an agent writes what [Settings] returns and starts the agent with the variables of a [Target].
package hook

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
)

// exitDenied is the exit code that makes Claude Code deny a call. It shows standard error to the agent as the reason.
const exitDenied = 2

// Hook is one run of a hook. All fields but Policy and Fault are needed.
type Hook struct {
	Phase  claude.Phase
	Policy Policy
	// Fault is an error in the hook's own command line, nil if there is none. The call is captured anyway.
	Fault error
	// Stdin may be nil if there is none, which is an error of the hook.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	// Dir is the working directory, absolute.
	Dir string
	Now func() time.Time
	// Secrets are masked in all that is written, but not in an input that is rewritten.
	Secrets *secret.Set

	tree   disk.Tree // that the capture is in
	file   string    // the capture
	output string    // the output directory that it is in; empty: it is elsewhere
}

// Active reports whether hooks are active: in a test, but not when people work in a project whose settings have these
// hooks.
func Active(getenv func(string) string) bool {
	return getenv(VariableMode) == "true" || getenv(VariableCapture) != ""
}

// Run captures the call on standard input, if hooks are active, and returns the exit code: 0, or 2 if the policy denies
// it.
func (h Hook) Run() (code int) {
	if !Active(h.Getenv) {
		drain(h.Stdin)
		switch mode := h.Getenv(VariableMode); mode {
		case "", "0", "false":
		default: // in a test there would be no capture, and no hint why
			fmt.Fprintf(h.Stderr, "sdd-eval hook: %s is %q: calls are captured only if it is true\n", VariableMode,
				h.Secrets.String(mode))
		}
		return 0
	}
	now := h.Now()
	h.tree, h.file, h.output, _ = captureFile(h.Getenv, h.Dir)
	defer func() {
		if r := recover(); r != nil { // else the process exits with 2
			h.report(now, fmt.Errorf("panic: %v\n%s", r, debug.Stack()))
			code = 0
		}
	}()
	p, err := readPayload(h.Stdin, h.Phase)
	cwd := h.Dir
	if err == nil && p.Cwd != "" {
		cwd = p.Cwd
	}
	var misplaced error
	h.tree, h.file, h.output, misplaced = captureFile(h.Getenv, cwd)
	for _, err := range []error{h.Fault, misplaced, err} {
		if err != nil {
			h.report(now, err)
		}
	}
	if err != nil {
		return 0
	}
	var d decision
	if h.Phase == claude.Pre {
		if d, err = h.Policy.decide(newCall(p, h.Getenv(VariableProject))); err != nil {
			h.report(now, err)
		}
	}
	if misplaced == nil {
		h.capture(now, p, d)
	}
	return h.answer(now, d)
}

// capture appends the call to the capture.
func (h Hook) capture(now time.Time, p *payload, d decision) {
	line, err := p.line(h.Phase, now, d)
	if err == nil {
		err = h.append(h.file, line)
	}
	if err != nil {
		h.report(now, fmt.Errorf("capture a call of %s: %w", p.Tool, err))
	}
}

// append appends a masked line to a file.
func (h Hook) append(file string, line []byte) error {
	if h.output != "" {
		if err := project.MakeIgnored(h.tree, h.output); err != nil {
			return err
		}
	}
	return appendLine(h.tree, file, h.Secrets.GuessJSON(line))
}

// answer tells Claude Code what the policy decided. A rewritten input grants no permission, on purpose: a call that
// needs one still does.
func (h Hook) answer(now time.Time, d decision) int {
	switch {
	case d.denied != "":
		fmt.Fprintln(h.Stderr, h.Secrets.String(d.denied))
		return exitDenied
	case d.input != nil:
		answer, err := jsonvalue.Marshal(map[string]any{
			"hookSpecificOutput": map[string]any{"hookEventName": claude.Pre.Event(), "updatedInput": d.input},
		})
		if err == nil {
			_, err = fmt.Fprintf(h.Stdout, "%s\n", answer)
		}
		if err != nil {
			h.report(now, fmt.Errorf("answer with the rewritten input: %w", err))
		}
	}
	return 0
}

// report writes an error of the hook beside the capture, where readers of the capture find it. If that fails, it writes
// the error to standard error.
func (h Hook) report(now time.Time, failed error) {
	var l lineWriter
	l.field("timestamp", now.UTC().Format(time.RFC3339Nano))
	l.field("phase", h.Phase)
	l.field("error", failed.Error())
	line, err := l.close()
	if err == nil {
		err = h.append(h.file+".errors", line)
	}
	if err != nil {
		fmt.Fprintf(h.Stderr, "sdd-eval hook: %s\n", h.Secrets.String(fmt.Sprintf("%v (%v)", failed, err)))
	}
}

// The variables by which a harness tells hooks what to do.
const (
	VariableMode    = "TEST_MODE"          // true: this is a test
	VariableRunID   = "TEST_RUN_ID"        // names the directory of the run's output
	VariableProject = "CLAUDE_PROJECT_DIR" // the project's root; Claude Code sets it for its hooks, too
	VariableCapture = "EVALTEST_CAPTURE"   // the capture's file
)

// Target says where the hooks of an agent write. A harness passes it through the agent's environment.
type Target struct {
	// RunID is what [testrun.ID] returns.
	RunID string
	// Project is the project's root and Capture the capture's file, both absolute. The agent has to be able to write to
	// the directory of the capture.
	Project, Capture string
}

// Environment returns the variables for the agent, "NAME=value" each.
func (t Target) Environment() []string {
	return []string{
		VariableMode + "=true", VariableRunID + "=" + t.RunID, VariableProject + "=" + t.Project,
		VariableCapture + "=" + t.Capture,
	}
}

// captureFile returns the file that lines are appended to, the tree that it is in, and the output directory, which is
// empty if the user chose another file. With an error, the file is never read, but people can find the file of errors
// beside it.
func captureFile(getenv func(string) string, cwd string) (tree disk.Tree, file, output string, err error) {
	project := getenv(VariableProject)
	if project == "" {
		project = cwd
	}
	tree = disk.Tree(project)
	if file := getenv(VariableCapture); file != "" {
		if !filepath.IsAbs(file) {
			file = filepath.Join(project, file)
		}
		return disk.Within(project, filepath.Dir(file)), file, "", nil
	}
	const name = "tool-calls.jsonl"
	output = filepath.Join(project, "test-output")
	id := getenv(VariableRunID)
	if id == "" { // a generated id would differ for each call
		return tree, filepath.Join(output, name), output, errors.New(VariableRunID + " is not set, and neither is " +
			VariableCapture)
	}
	if _, err := testrun.ID(getenv); err != nil {
		return tree, filepath.Join(output, name), output, err
	}
	return tree, filepath.Join(output, id, name), output, nil
}

// Main is the program [helper.Hook], for agents that sdd-eval drives. Its argument is the phase.
func Main(args []string) int {
	var secrets secret.Set
	secrets.AddEnvironment(os.Environ())
	dir, err := os.Getwd()
	var phase claude.Phase
	if len(args) > 0 {
		phase = claude.Phase(args[0])
	}
	return Hook{
		Phase: phase, Fault: err, Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Dir: dir, Now: time.Now, Secrets: &secrets,
	}.Run()
}

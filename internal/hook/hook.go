package hook

import (
	"fmt"
	"io"
	"runtime/debug"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// exitDenied is the exit code that tells Claude Code to deny a call. The agent reads why on standard error.
const exitDenied = 2

// Hook is one run of a hook. All fields but Policy and Fault are needed.
type Hook struct {
	Phase  Phase
	Policy Policy
	// Fault is what is wrong with the hook's own command line, nil if nothing is. The call is captured anyway.
	Fault error
	// Stdin may be nil: there is nothing to read, which is an error of the hook.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Getenv         func(string) string
	// Dir is the working directory, absolute.
	Dir string
	Now func() time.Time
	// Secrets are masked in all that is written, but not in an input that is rewritten.
	Secrets *secret.Set

	file   string // the capture
	output string // the directory of output that it is in; empty: in none
}

// Active reports whether hooks have anything to do: in a test, and not when people work in a project whose settings have
// our hooks.
func Active(getenv func(string) string) bool {
	return getenv(VariableMode) == "true" || getenv(VariableCapture) != ""
}

// Run captures the call on standard input, if hooks are active, and returns the exit code: 0, or 2 if the policy denies it.
func (h Hook) Run() (code int) {
	if !Active(h.Getenv) {
		drain(h.Stdin)
		switch mode := h.Getenv(VariableMode); mode {
		case "", "0", "false":
		default: // somebody who means a test would find no capture, and not know why
			fmt.Fprintf(h.Stderr, "sdd-eval hook: %s is %q: calls are captured only if it is true\n", VariableMode, h.Secrets.String(mode))
		}
		return 0
	}
	now := h.Now()
	h.file, h.output, _ = captureFile(h.Getenv, h.Dir)
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
	h.file, h.output, misplaced = captureFile(h.Getenv, cwd)
	for _, err := range []error{h.Fault, misplaced, err} {
		if err != nil {
			h.report(now, err)
		}
	}
	if err != nil {
		return 0
	}
	var d decision
	if h.Phase == Pre {
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
		if err := project.MakeIgnored(h.output); err != nil {
			return err
		}
	}
	return appendLine(file, h.Secrets.JSON(line))
}

// answer tells Claude Code what the policy says. That a rewritten input says nothing about permissions is on purpose: what
// needs one still does.
func (h Hook) answer(now time.Time, d decision) int {
	switch {
	case d.denied != "":
		fmt.Fprintln(h.Stderr, h.Secrets.String(d.denied))
		return exitDenied
	case d.input != nil:
		answer, err := jsonvalue.Marshal(map[string]any{
			"hookSpecificOutput": map[string]any{"hookEventName": events[Pre], "updatedInput": d.input},
		})
		if err == nil {
			_, err = fmt.Fprintf(h.Stdout, "%s\n", answer)
		}
		if err != nil {
			h.report(now, fmt.Errorf("answer with another input: %w", err))
		}
	}
	return 0
}

// report leaves an error of the hook beside the capture, where reading it finds it, or says it where somebody may hear it.
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

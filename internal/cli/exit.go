package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// The exit codes.
const (
	exitOK          = 0
	exitFailed      = 1   // a unit or a job failed
	exitUsage       = 2   // the command line, a playbook or the configuration is wrong
	exitHarness     = 3   // the harness failed: nothing is known about the agents
	exitInterrupted = 130 // by Ctrl-C or SIGTERM
)

// exitError is an error with the exit code that it ends the command with. Errors without one are those of the harness.
type exitError struct {
	code int
	// err is what to tell the user, nil if it has been told already.
	err error
	// next is the command that a person runs next, empty if there is none to name.
	next string
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// usageError returns an error about what the user wrote: the command line, a file or the configuration.
func usageError(format string, args ...any) *exitError {
	return &exitError{code: exitUsage, err: fmt.Errorf(format, args...)}
}

// hint returns the error with the command that a person runs next.
func (e *exitError) hint(next string) *exitError {
	e.next = next
	return e
}

// exitCode returns the code that err ends the command with.
func exitCode(ctx context.Context, err error) int {
	e, ok := errors.AsType[*exitError](err)
	switch {
	case ok:
		return e.code
	case ctx.Err() != nil:
		return exitInterrupted
	}
	return exitHarness
}

// nextAfter returns the command that a person runs after err, empty if there is none to name.
func (a *App) nextAfter(err error) string {
	if e, ok := errors.AsType[*exitError](err); ok && e.next != "" {
		return e.next
	}
	bad, ok := errors.AsType[*rundir.LineError](err)
	if !ok || bad.File == "" {
		return ""
	}
	root := bad.Root
	if here, err := a.projectRoot(""); err == nil && here == root {
		root = ""
	}
	return "remove that line, then have what it was about run again: " + commandLine("run", "--resume", bad.RunID, "--root", root)
}

// verdict returns the error that what a run comes to ends a command with, nil if nothing is wrong with it. root is the
// user's --root.
func verdict(v result.Run, id, root string) error {
	e := &exitError{code: exitHarness, next: commandLine("show", id, "--root", root)}
	switch {
	case !v.Outcome.Bad():
		return nil
	case v.Outcome == result.Fail:
		e.code = exitFailed
	case v.Outcome == result.NotRun:
		e.err = errors.New("not all of the run has been run")
	case len(v.Problems) > 0:
		e.err = errors.New(strings.Join(v.Problems, "; "))
	}
	return e
}

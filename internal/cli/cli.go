// Package cli is the command sdd-eval: its commands with their flags and help, its completion scripts, and what it shows
// while a playbook runs. Results go to standard output, everything else to standard error.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// App is one invocation of the command. All fields but Stdin are needed.
type App struct {
	// Args are the arguments without the program's name.
	Args []string
	// Stdin may be nil: there is nothing to read.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv and Environ are the environment, as os.Getenv and os.Environ return it.
	Getenv  func(string) string
	Environ []string
	// Dir is the working directory, absolute.
	Dir string
	// Now is the clock.
	Now func() time.Time

	// secrets are what nothing that is printed or written may show.
	secrets *secret.Set
}

// Main is sdd-eval as this process was started. It returns the exit code. When ctx is done the command ends in order.
func Main(ctx context.Context) int {
	dir, err := os.Getwd()
	if err != nil {
		fmt.Fprintf(os.Stderr, "sdd-eval: find the working directory: %v\n", err)
		return exitHarness
	}
	a := App{
		Args: os.Args[1:], Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr,
		Getenv: os.Getenv, Environ: os.Environ(), Dir: dir, Now: time.Now,
	}
	return a.Run(ctx)
}

// Run runs the command that the arguments name and returns the exit code: 0 all is well, 1 something failed that was
// judged, 2 the command line, a playbook or the configuration is wrong, 3 the harness failed, 130 interrupted.
func (a *App) Run(ctx context.Context) int {
	out := &checkedWriter{w: a.Stdout}
	called := *a
	called.Stdout, called.secrets = out, new(secret.Set)
	called.secrets.AddEnvironment(a.Environ)
	err := called.dispatch(ctx)
	if err == nil && out.err != nil {
		err = fmt.Errorf("write to standard output: %w", out.err)
	}
	if err == nil {
		return exitOK
	}
	code := exitCode(ctx, err)
	e, ok := errors.AsType[*exitError](err)
	if !ok || e.err != nil {
		fmt.Fprintf(a.Stderr, "sdd-eval: %s\n", called.secrets.String(err.Error()))
	}
	if next := a.nextAfter(err); next != "" {
		fmt.Fprintf(a.Stderr, "next: %s\n", next)
	}
	return code
}

// path returns a path that the user wrote as an absolute one.
func (a *App) path(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(a.Dir, p)
}

// shown returns a path as the user would write it: relative to the working directory if it is below.
func (a *App) shown(path string) string {
	rel, err := filepath.Rel(a.Dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return path
	}
	return rel
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// checkedWriter keeps the first error, so that no command succeeds whose output was lost.
type checkedWriter struct {
	w   io.Writer
	err error
}

func (c *checkedWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	if c.err == nil {
		c.err = err
	}
	return n, err
}

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

// tool is this program as the files that it writes name it.
const tool = "sdd-eval " + engine.Version

// versionLine tells which program this is, and what it was built from with which Go.
func versionLine() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return tool
	}
	source := strings.Trim(info.Main.Version, "()") // (devel): go does not know
	if source == "" {
		source = "devel"
	}
	return fmt.Sprintf("%s (%s, %s)", tool, source, info.GoVersion)
}

// commandLine returns a command line of this tool, for people to copy into a shell. An empty word, which no flag takes, is
// left out together with the flag before it.
func commandLine(line ...string) string {
	given := []string{"sdd-eval"}
	for _, word := range line {
		if word == "" {
			given = given[:len(given)-1]
			continue
		}
		given = append(given, word)
	}
	return words.Join(given...)
}

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
	"time"

	"github.com/sdd-eval/sdd-eval/internal/secret"
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

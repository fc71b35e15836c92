// Package cli implements the command sdd-eval: its subcommands with their flags and help, its completion scripts, and
// what a person sees while a playbook runs. Results go to standard output, everything else to standard error.
//
// A command here reads its flags, calls another package and prints what came of it. How playbooks are run, reported and
// recorded belongs into those packages, where tests written in Go share it.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// App is one invocation of the command. All fields but Stdin are needed.
type App struct {
	// Args are the arguments without the program's name.
	Args []string
	// Stdin may be nil, for no input.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Getenv and Environ are the environment, as os.Getenv and os.Environ return it.
	Getenv  func(string) string
	Environ []string
	// Dir is the working directory, absolute.
	Dir string
	// Now is the clock.
	Now func() time.Time

	// secrets are masked in everything that is printed or written.
	secrets *secret.Set
}

// Main runs sdd-eval with the arguments and the environment of this process and returns the exit code. The first SIGINT
// or SIGTERM ends the command in order, the second one at once. One may come twice, from the terminal and from npx.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, func() { time.AfterFunc(time.Second/2, stop) })
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

// Run runs the command that the arguments name and returns the exit code: 0 success, 1 a unit or a job failed, 2 the
// command line, a playbook or the configuration is wrong, 3 the harness failed, 130 interrupted.
func (a *App) Run(ctx context.Context) int {
	out := &checkedWriter{w: a.Stdout}
	masked := *a
	stdout, stderr := &door{w: out}, &door{w: a.Stderr}
	stdout.color = bool(newPaint(a))
	masked.Stdout, masked.Stderr, masked.secrets = stdout, stderr, new(secret.Set)
	defer stderr.close()
	masked.secrets.AddEnvironment(a.Environ)
	err := masked.dispatch(ctx)
	stdout.close()
	if err == nil && out.err != nil {
		err = fmt.Errorf("write to standard output: %w", out.err)
	}
	if err == nil {
		return exitOK
	}
	code := exitCode(ctx, err)
	e, ok := errors.AsType[*exitError](err)
	if !ok || e.err != nil {
		fmt.Fprintf(stderr, "sdd-eval: %s\n", masked.secrets.String(err.Error()))
	}
	if next := a.nextAfter(err); next != "" {
		fmt.Fprintf(stderr, "next: %s\n", next)
	}
	return code
}

// path makes a path that the user wrote absolute.
func (a *App) path(p string) string {
	if filepath.IsAbs(p) {
		return filepath.Clean(p)
	}
	return filepath.Join(a.Dir, p)
}

// shown returns a path as the user would write it: relative to the working directory if it is below that.
func (a *App) shown(path string) string { return filepath.FromSlash(disk.Shown(a.Dir, path)) }

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// checkedWriter keeps the first error, so that a command whose output was lost does not succeed.
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
	exitHarness     = 3   // the harness itself failed: nothing is known about the agents
	exitOpen        = 4   // a comparison is inconclusive where its gate wants more
	exitInterrupted = 130 // by Ctrl-C or SIGTERM
)

// exitError is an error with the exit code of the command. Any other error is one of the harness.
type exitError struct {
	code int
	// err is printed for the user; nil if everything has been printed already.
	err error
	// next is the command to run next, empty if there is none.
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

// hint sets the command to run next and returns the error.
func (e *exitError) hint(next string) *exitError {
	e.next = next
	return e
}

// exitCode returns the exit code of a command that ended with err.
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

// nextAfter returns what to do after err, a command for the most part, empty if nothing is known.
func (a *App) nextAfter(err error) string {
	if e, ok := errors.AsType[*exitError](err); ok && e.next != "" {
		return e.next
	}
	bad, ok := errors.AsType[*rundir.LineError](err)
	if !ok || bad.File == "" {
		return fault.Advice(err)
	}
	root := bad.Root
	if root == "" {
		return "take the directory once more from where it was made, or run that part again"
	}
	if here, err := a.projectRoot(""); err == nil && here == root {
		root = ""
	}
	again := commandLine("run", "--resume", bad.RunID, "--root", root)
	return "remove that line, then repeat what it recorded: " + again
}

// verdict returns the error that a command ends with after a run of that outcome, nil if the run is good. root is the
// value of --root.
func verdict(v result.Run, id, root string) error {
	e := &exitError{code: exitHarness, next: commandLine("show", id, "--root", root)}
	switch {
	case !v.Outcome.Bad():
		return nil
	case v.Outcome == result.Fail:
		e.code = exitFailed
	case v.Outcome == result.NotRun:
		e.err = errors.New("the run is incomplete")
	case len(v.Problems) > 0:
		e.err = errors.New(strings.Join(v.Problems, "; "))
	}
	return e
}

// tool is the name and version of this program in the files that it writes.
const tool = "sdd-eval " + engine.Version

// versionLine returns the program's name and version, the source it was built from, and the version of Go.
func versionLine() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return tool
	}
	source := strings.Trim(info.Main.Version, "()") // "(devel)" where the go command does not know
	if source == "" {
		source = "devel"
	}
	return fmt.Sprintf("%s (%s, %s)", tool, source, info.GoVersion)
}

// commandLine returns a command line of this tool that a person can copy into a shell. An empty word stands for a flag
// that is not set: it is left out together with the flag before it.
func commandLine(args ...string) string { return "sdd-eval " + flagLine(args...) }

// flagLine is commandLine without the tool.
func flagLine(args ...string) string {
	var line []string
	for _, arg := range args {
		if arg == "" {
			line = line[:len(line)-1]
			continue
		}
		line = append(line, arg)
	}
	return words.Join(line...)
}

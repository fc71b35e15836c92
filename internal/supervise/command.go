package supervise

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/lockdown"
)

// DefaultGrace is the grace of a [Command] whose Grace is 0.
const DefaultGrace = 5 * time.Second

// SupervisorPath is the helper's path inside a [Command.Enclosure], where an agent may list it among its processes.
const SupervisorPath = "/run/supervisor"

// Command describes a child process. Only Path is required.
type Command struct {
	// Path is the program: a path, relative to our own working directory, or a name without a slash, which is looked
	// up in the PATH of Env.
	Path string
	// Args are the arguments, argv[0] included; if empty, they are Path alone.
	Args []string
	// Dir is the working directory; if empty, it is ours.
	Dir string
	// DirFile, if not nil, is the working directory as an open directory, and wins over Dir: between check and use, a
	// path can come to mean another directory. Start does not close it, and needs it only until it returns.
	DirFile *os.File
	// Env is the whole environment, "KEY=value" each. Nothing is inherited.
	Env []string

	// Stdin, Stdout and Stderr are as in [exec.Cmd]: nil is the null device, an *os.File is handed over as it is,
	// anything else is copied to or from by a goroutine that ends before Wait returns; Stdout and Stderr that are equal
	// get one pipe. Wait does not return while the Read of Stdin or a Write of Stdout or Stderr blocks.
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// PipeStdin asks for [Process.Stdin], in place of Stdin.
	PipeStdin bool
	// PipeStdout asks for [Process.Stdout], in place of Stdout.
	PipeStdout bool

	// Scratch, if not empty, is a directory that the supervisor removes, with its contents, if we end before the child
	// does and cannot remove it ourselves. Only on Linux.
	Scratch string
	// Rules, if not nil, restrict the child and its descendants, but not the supervisor. Only on Linux: elsewhere they
	// are an error.
	Rules *lockdown.Rules
	// Enclosure, if not empty, is the command that makes the surroundings of the supervisor and the child, such as
	// bwrap with its options: a program's absolute path and arguments, to which Start adds [SupervisorPath] and
	// arguments. The command must run these as the first process of a process namespace. Only on Linux.
	Enclosure []string
	// Limits bound what the child and its descendants use. A tree that exceeds one is killed; see [LimitError]. Only on
	// Linux.
	Limits Limits
	// Grace is how long Stop waits after closing the input and again after SIGTERM; 0 means DefaultGrace.
	Grace time.Duration
}

// Program returns the absolute path of the program that Path names.
func (c *Command) Program() (string, error) {
	switch {
	case c.Path == "":
		return "", errors.New("no program given")
	case strings.ContainsRune(c.Path, '/'), strings.ContainsRune(c.Path, filepath.Separator):
		return filepath.Abs(c.Path)
	}
	return environ.LookPath(c.Path, environ.Get(c.Env, "PATH"))
}

// check returns an error if c has something that no process can be given.
func (c *Command) check() error {
	if strings.ContainsRune(c.Path, 0) || strings.ContainsRune(c.Dir, 0) {
		return errors.New("the path has a NUL byte")
	}
	for _, s := range c.Args {
		if strings.ContainsRune(s, 0) {
			return fmt.Errorf("argument %q has a NUL byte", s)
		}
	}
	for _, s := range c.Env {
		if name, _, ok := strings.Cut(s, "="); !ok || name == "" || strings.ContainsRune(s, 0) {
			return fmt.Errorf("environment variable %q: want NAME=value without NUL bytes", name)
		}
	}
	if c.Stdin != nil && c.PipeStdin || c.Stdout != nil && c.PipeStdout {
		panic("supervise: Command has a stream and asks for a pipe in its place; set one of them")
	}
	return nil
}

// argv returns the arguments with argv[0].
func (c *Command) argv() []string {
	if len(c.Args) == 0 {
		return []string{c.Path}
	}
	return c.Args
}

// execError says why the program at path could not be run.
func execError(path string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if _, statErr := os.Stat(path); statErr == nil {
			return fmt.Errorf("exec: %w (the file exists: check the interpreter or loader that it names)", err)
		}
	}
	return fmt.Errorf("exec: %w", err)
}

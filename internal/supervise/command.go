package supervise

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/lockdown"
)

// DefaultGrace is the grace of a [Command] that names none.
const DefaultGrace = 5 * time.Second

// SupervisorPath is the path at which a [Command.Enclosure] has the helper.
const SupervisorPath = "/run/sdd-eval-supervisor"

// Command describes a child process. Only Path is required.
type Command struct {
	// Path is the program: a path, relative to our own working directory, or a name without a slash, which is looked
	// up in the PATH of Env.
	Path string
	// Args are the arguments, argv[0] included; if empty, they are Path alone.
	Args []string
	// Dir is the working directory; if empty, it is ours.
	Dir string
	// DirFile, if not nil, is the working directory as an open directory, and wins over Dir: a path can come to mean
	// another directory between check and use. Start needs it only until it returns, and does not close it.
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

	// Scratch, if not empty, is a directory that is removed with all that is in it if we are gone before the child has
	// ended: then we cannot. Only on Linux.
	Scratch string
	// Rules, if not nil, are what the child and its descendants are locked down to. The supervisor is not. Only on Linux:
	// elsewhere they are an error.
	Rules *lockdown.Rules
	// Enclosure, if not empty, is the command that makes the surroundings in which the supervisor and the child are to
	// live, such as bwrap with its options: a program's absolute path and arguments, to which Start adds [SupervisorPath]
	// and arguments. There it has to run the helper as the first process of a process namespace. Only on Linux.
	Enclosure []string
	// MaxThreads, if not 0, is how many threads the child and its descendants may have all together. A tree that grows past
	// it is killed. Only on Linux.
	MaxThreads int
	// Grace is how long Stop waits after each of its polite steps; 0 means DefaultGrace.
	Grace time.Duration
}

// LookPath returns the path of the program file, which must not contain a slash, in the directories of path, a list as in
// $PATH. Empty and relative directories in the list are passed over: what they mean depends on who looks. The error wraps
// [exec.ErrNotFound] and names the list.
func LookPath(file, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, file)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%q: %w (PATH=%s)", file, exec.ErrNotFound, path)
}

// Program returns the absolute path of the program that Path means.
func (c *Command) Program() (string, error) {
	switch {
	case c.Path == "":
		return "", errors.New("no program given")
	case strings.ContainsRune(c.Path, '/'), strings.ContainsRune(c.Path, filepath.Separator):
		return filepath.Abs(c.Path)
	}
	var path string
	for _, kv := range c.Env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
		}
	}
	return LookPath(c.Path, path)
}

// check reports what no process can be given.
func (c *Command) check() error {
	if strings.ContainsRune(c.Path, 0) || strings.ContainsRune(c.Dir, 0) {
		return errors.New("path with a NUL byte")
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
			return fmt.Errorf("exec: %w (the file is there: is the interpreter or loader that it names?)", err)
		}
	}
	return fmt.Errorf("exec: %w", err)
}

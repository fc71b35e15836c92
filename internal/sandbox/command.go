package sandbox

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// shell is the program that runs whole command lines, if it is allowed.
const shell = "sh"

// Spec is a command that an agent wants to run in a terminal.
type Spec struct {
	// Command is a program or, if there are no Args, a command line. If sh is allowed, that runs the line; else the line
	// is split by the rules of run steps and must not have the shell's operators.
	Command string
	// Args are the program's arguments, argv[0] not included.
	Args []string
	// Env are variables that the command sees beside those of the terminals, "NAME=value" each. Those that would change
	// which code runs are dropped, which counts as a denial.
	Env []string
	// Cwd is an absolute path in the workspace; empty: the workspace.
	Cwd string
	// OutputByteLimit is how much output is kept, from its end; nil: as much as TerminalConfig.MaxOutput, which is never
	// exceeded.
	OutputByteLimit *int64
}

// argv returns the arguments to run, argv[0] included.
func (t *Terminals) argv(s Spec) ([]string, error) {
	if len(s.Args) > 0 {
		return append([]string{s.Command}, s.Args...), nil
	}
	if slices.Contains(t.config.Allow, shell) {
		return []string{shell, "-c", s.Command}, nil
	}
	argv, err := words.Split(s.Command)
	if err != nil {
		return nil, t.deny(OpRun, firstWord(s.Command), fmt.Sprintf("%v; whole shell lines run only if %s is allowed", err, shell))
	}
	if len(argv) == 0 {
		return nil, t.deny(OpRun, "", "empty command")
	}
	return argv, nil
}

// firstWord is what a denial shows of a command line.
func firstWord(line string) string {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// program returns the path of the program that argv[0] names: one in a directory of PATH, not in the workspace, with an
// allowed name.
func (t *Terminals) program(name string) (path string, err error) {
	base := filepath.Base(name)
	if !slices.Contains(t.config.Allow, base) {
		return "", t.deny(OpRun, name, "not one of the allowed commands: "+strings.Join(t.config.Allow, ", "))
	}
	list := variables(t.config.Env)["PATH"]
	switch {
	case base == name:
		if path, err = supervise.LookPath(name, list); err != nil {
			return "", err
		}
	case slices.Contains(filepath.SplitList(list), strings.TrimSuffix(name, string(filepath.Separator)+base)):
		if path, err = exec.LookPath(name); err != nil {
			return "", err
		}
	default:
		return "", t.deny(OpRun, name, "not in a directory of PATH")
	}
	if t.files.root.place.has(path) {
		return "", t.deny(OpRun, name, "a program in the workspace")
	}
	return path, nil
}

// dir opens the command's working directory. The command gets it open, so that it does not matter what its path comes to
// mean.
func (t *Terminals) dir(cwd string) (*os.File, error) {
	if cwd == "" {
		return t.files.root.Open(".")
	}
	rel, reason := t.files.root.local(cwd)
	if reason != "" {
		return nil, t.deny(OpRun, cwd, "working directory: "+reason)
	}
	file, err := t.files.root.OpenFile(rel, os.O_RDONLY|disk.Nonblock, 0) // a FIFO must not hang us
	if err != nil {
		return nil, t.files.fail(OpRun, cwd, err)
	}
	if info, err := file.Stat(); err != nil || !info.IsDir() {
		file.Close()
		return nil, &fs.PathError{Op: OpRun, Path: cwd, Err: syscall.ENOTDIR}
	}
	return file, nil
}

package localtools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

const (
	// DefaultMaxOutput is the most output that a terminal keeps, in bytes, if [TerminalConfig.MaxOutput] does not say.
	DefaultMaxOutput = 1 << 20
	// maxTerminals is how many terminals there may be at a time. Terminals that are not released count on.
	maxTerminals = 64
)

// ErrNoTerminal is the error of a terminal that was never made, or was released.
var ErrNoTerminal = errors.New("no such terminal")

// errClosed is why the terminals end that Close finds.
var errClosed = errors.New("terminals closed")

// TerminalConfig says what the commands of an agent may be and see.
type TerminalConfig struct {
	// Env is the environment of the commands, as [Environment] builds it. Programs are looked up in its PATH.
	Env []string
	// Allow are the base names of the programs that may run, unless Confined.
	Allow []string
	// Confined says that Start confines the commands. Then any program may run, and the shell runs whole lines.
	Confined bool
	// MaxOutput is the most output that a terminal keeps, in bytes; 0 means DefaultMaxOutput.
	MaxOutput int64
	// Start starts a command, confined; nil: [supervise.Start], which confines nothing.
	Start func(context.Context, supervise.Command) (*supervise.Process, error)
	// Grace is how long a command that is killed may take after SIGTERM; 0 means [supervise.DefaultGrace].
	Grace time.Duration
}

// Terminals runs commands for an agent, in the workspace of its files. Denials go to their OnDeny. Its methods may be
// called from many goroutines.
type Terminals struct {
	files  *Files
	config TerminalConfig

	ctx   context.Context // ends with Close
	close context.CancelCauseFunc

	mu      sync.Mutex
	closed  bool
	created int
	open    map[string]*terminal // nil while the command is being started

	err error // of commands whose processes did not end well

	running sync.WaitGroup // commands, released ones included
}

// terminal is one command.
type terminal struct {
	process *supervise.Process
	output  *excerpt.Tail
}

// NewTerminals returns terminals in the workspace of files, which must stay open for as long. Close ends them.
func NewTerminals(files *Files, config TerminalConfig) *Terminals {
	t := &Terminals{files: files, config: config, open: make(map[string]*terminal)}
	if t.config.MaxOutput == 0 {
		t.config.MaxOutput = DefaultMaxOutput
	}
	if t.config.Start == nil {
		t.config.Start = supervise.Start
	}
	t.ctx, t.close = context.WithCancelCause(context.Background())
	return t
}

func (t *Terminals) deny(op, path, reason string) error {
	return deny(t.files.OnDeny, op, path, reason)
}

// Create starts a command and returns its terminal's id at once.
//
// Its errors are [*Denied], those of the working directory, or say why the program cannot be run.
func (t *Terminals) Create(s Spec) (string, error) {
	id, err := t.reserve()
	if err != nil {
		return "", err
	}
	var term *terminal
	defer func() {
		if term == nil { // an error, or a panic
			t.abandon(id)
		}
	}()
	if term, err = t.start(s); err != nil {
		return "", err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.open[id] = term
	}
	go func() {
		defer t.running.Done()
		_, err := term.process.Wait()
		t.note(err)
	}()
	return id, nil
}

// reserve makes room for a terminal, which counts as running.
func (t *Terminals) reserve() (id string, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.closed:
		return "", errClosed
	case len(t.open) >= maxTerminals:
		return "", fmt.Errorf("%d terminals are open: release some", maxTerminals)
	}
	t.created++
	id = "terminal-" + strconv.Itoa(t.created)
	t.open[id] = nil
	t.running.Add(1)
	return id, nil
}

// abandon gives up what was reserved for a command that did not start.
func (t *Terminals) abandon(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.open, id)
	t.running.Done()
}

func (t *Terminals) start(s Spec) (*terminal, error) {
	limit := t.config.MaxOutput
	if s.OutputByteLimit != nil {
		if *s.OutputByteLimit < 0 {
			return nil, errors.New("the output limit must not be negative")
		}
		limit = min(limit, *s.OutputByteLimit)
	}
	argv, err := t.argv(s)
	if err != nil {
		return nil, err
	}
	path, argv, err := t.program(argv)
	if err != nil {
		return nil, err
	}
	dir, err := t.dir(s.Cwd)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	env, dropped := environ.With(t.config.Env, s.Env)
	for _, name := range dropped {
		_ = t.deny(OpEnv, name, reasonSteers)
	}
	output := &excerpt.Tail{Limit: int(limit)}
	process, err := t.config.Start(t.ctx, supervise.Command{
		Path: path, Args: argv, DirFile: dir, Env: env, Stdout: output, Stderr: output, Grace: t.config.Grace,
	})
	if err != nil {
		return nil, err
	}
	return &terminal{process: process, output: output}, nil
}

// note keeps the error of a process that has ended, but for that of being closed.
func (t *Terminals) note(err error) {
	if err == nil || errors.Is(err, errClosed) {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.err = errors.Join(t.err, err)
}

// get returns an open terminal.
func (t *Terminals) get(id string) (*terminal, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if term := t.open[id]; term != nil {
		return term, nil
	}
	return nil, fmt.Errorf("terminal %q: %w", id, ErrNoTerminal)
}

// Output is the output of a terminal's command.
type Output struct {
	// Text is valid UTF-8: other bytes read as U+FFFD.
	Text string
	// Truncated means that the beginning of the output was dropped.
	Truncated bool
	// Exit is nil while the command runs.
	Exit *supervise.Exit
}

// Output returns the output so far.
func (t *Terminals) Output(id string) (Output, error) {
	term, err := t.get(id)
	if err != nil {
		return Output{}, err
	}
	var out Output
	select {
	case <-term.process.Done():
		exit, _ := term.process.Wait() // its error goes to note
		out.Exit = &exit
	default:
	}
	out.Text, out.Truncated = term.output.Text(out.Exit != nil)
	return out, nil
}

// Wait returns when the command has ended, or with ctx's error when that is done. A command that is killed or released
// meanwhile ends too.
func (t *Terminals) Wait(ctx context.Context, id string) (supervise.Exit, error) {
	term, err := t.get(id)
	if err != nil {
		return supervise.Exit{}, err
	}
	select {
	case <-term.process.Done():
		exit, _ := term.process.Wait() // its error goes to note
		return exit, nil
	case <-ctx.Done():
		return supervise.Exit{}, ctx.Err()
	}
}

// Kill ends the command, by SIGTERM and after the grace by SIGKILL, and returns when nothing of it is left. The
// terminal keeps its output and exit status.
func (t *Terminals) Kill(id string) error {
	term, err := t.get(id)
	if err != nil {
		return err
	}
	_, _ = term.process.Stop(context.Background()) // its error goes to note
	return nil
}

// Release ends the command as Kill does and forgets the terminal.
func (t *Terminals) Release(id string) error {
	term, err := t.get(id)
	if err != nil {
		return err
	}
	t.mu.Lock()
	delete(t.open, id)
	t.mu.Unlock()
	_, _ = term.process.Stop(context.Background()) // its error goes to note
	return nil
}

// Close releases all terminals and returns when no process of any command is left. The error is of processes that could
// not be ended, now or earlier.
func (t *Terminals) Close() error {
	t.mu.Lock()
	t.closed = true
	clear(t.open)
	t.mu.Unlock()
	t.close(errClosed)
	t.running.Wait()
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.err
}

// shell is the program that runs whole command lines, if it is allowed.
const shell = "sh"

// Spec is a command that an agent wants to run in a terminal.
type Spec struct {
	// Command is a program or, if there are no Args, a command line. If sh may run, that runs the line; else the
	// line is split by the rules of run steps and must not have the shell's operators.
	Command string
	// Args are the program's arguments, argv[0] not included.
	Args []string
	// Env are variables that the command sees beside those of the terminals, "NAME=value" each. Those that would change
	// which code runs are dropped, which counts as a denial.
	Env []string
	// Cwd is an absolute path in the workspace; empty: the workspace.
	Cwd string
	// OutputByteLimit is how much output is kept, from its end; nil: as much as TerminalConfig.MaxOutput, which is
	// never exceeded.
	OutputByteLimit *int64
}

// argv returns the arguments to run, argv[0] included.
func (t *Terminals) argv(s Spec) ([]string, error) {
	if len(s.Args) > 0 {
		return append([]string{s.Command}, s.Args...), nil
	}
	if strings.TrimSpace(s.Command) == "" {
		return nil, t.deny(OpRun, "", "empty command")
	}
	if t.allows(shell) {
		return []string{shell, "-c", s.Command}, nil
	}
	argv, err := words.Split(s.Command)
	if err != nil {
		return nil, t.deny(OpRun, firstWord(s.Command),
			fmt.Sprintf("%v; whole shell lines run only if %s is allowed", err, shell))
	}
	return argv, nil
}

// allows reports whether programs with that base name may run.
func (t *Terminals) allows(base string) bool {
	return t.config.Confined || slices.Contains(t.config.Allow, base)
}

// firstWord is what a denial shows of a command line.
func firstWord(line string) string {
	fields := strings.Fields(line)
	if len(fields) == 0 {
		return ""
	}
	return fields[0]
}

// program returns the path of the program that argv[0] names, and the arguments to start it with. Unless the commands
// are confined, it is one in a directory of PATH, not in the workspace, with an allowed name.
func (t *Terminals) program(argv []string) (path string, args []string, err error) {
	name := argv[0]
	base := filepath.Base(name)
	switch list := environ.Get(t.config.Env, "PATH"); {
	case !t.allows(base):
		return "", nil, t.deny(OpRun, name, "not one of the allowed commands: "+strings.Join(t.config.Allow, ", "))
	case base == name:
		path, err = environ.LookPath(name, list)
	case t.config.Confined: // what is at a path is for the sandbox to say
		argv = append([]string{shell, "-c", `exec "$0" "$@"`}, argv...)
		path, err = environ.LookPath(shell, list)
	case slices.Contains(filepath.SplitList(list), strings.TrimSuffix(name, string(filepath.Separator)+base)):
		path, err = exec.LookPath(name)
	default:
		return "", nil, t.deny(OpRun, name, "not in a directory of PATH")
	}
	if err != nil {
		return "", nil, err
	}
	if !t.config.Confined && t.files.root.location.Has(path) {
		return "", nil, t.deny(OpRun, name, "a program in the workspace")
	}
	return path, argv, nil
}

// dir opens the command's working directory. The command gets it open, so that it does not matter what its path comes
// to mean.
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

package script

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
)

// Runner runs scripts. It is safe for concurrent use.
type Runner struct {
	// Sandbox confines them. Without one nothing runs: to confine nothing takes a sandbox of kind none.
	Sandbox *confine.Sandbox
	// Environ is our own environment, of which scripts see what every child sees, and what Pass names.
	Environ []string
	Pass    []string
	// Root is the project's root, an absolute path. Scripts may read it, but not its git repository.
	Root string
	// Secret reports whether scripts may not read a file below Root, by its path. Nil: they may read all.
	Secret func(path string) bool
	// Read are further files and directories that scripts may read.
	Read []string
	// TempDir is where scripts get their HOME and TMPDIR; empty: the system's.
	TempDir string

	hide   sync.Once
	hidden []string
}

// grace is the time that a script which has to end has between SIGTERM and SIGKILL.
const grace = 250 * time.Millisecond

// Run runs a script that is expected to succeed and returns its standard output. It may read the workspace, unless that
// is empty. It need not read stdin. Errors are of type [*Error] once there is a script to speak of.
func (r *Runner) Run(ctx context.Context, s Script, stdin []byte, workspace string) (stdout []byte, err error) {
	out, err := r.Exec(ctx, s, stdin, workspace)
	if err == nil && out.Exit != (supervise.Exit{}) {
		err = r.failed(s, errors.New(out.Exit.String()), out.Stderr)
	}
	if err != nil {
		return nil, err
	}
	return out.Stdout, nil
}

// Exec runs a script as [Runner.Run] does, but leaves it to the caller what the script's exit means. A script that could
// not be started, was stopped by its timeout or by ctx, or wrote too much, is an error.
func (r *Runner) Exec(ctx context.Context, s Script, stdin []byte, workspace string) (Output, error) {
	if err := s.check(); err != nil {
		return Output{}, err
	}
	if r.Sandbox == nil {
		return Output{}, r.failed(s, errors.New("there is no sandbox to run it in"), "")
	}
	out, err := r.exec(ctx, s, stdin, workspace)
	if err != nil {
		return Output{}, r.failed(s, err, out.Stderr)
	}
	return out, nil
}

// failed returns the error of a script.
func (r *Runner) failed(s Script, err error, stderr string) error {
	tail := excerpt.Tail{Limit: maxStderr}
	_, _ = tail.Write([]byte(stderr))
	stderr, _ = tail.Text(true)
	return &Error{Script: s.name(r.Root), Err: err, Stderr: stderr}
}

func (r *Runner) exec(ctx context.Context, s Script, stdin []byte, workspace string) (out Output, err error) {
	if s.Cwd == "" {
		s.Cwd = r.Root
	}
	own, err := makeDirs(r.TempDir)
	if err != nil {
		return Output{}, err
	}
	defer func() { err = errors.Join(err, own.remove()) }()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout(), fmt.Errorf("it did not end within its timeout of %v", s.timeout()))
	defer cancel()

	stdout, stderr := &bounded{over: stop}, &excerpt.Tail{Limit: keptStderr}
	env := r.environment(s, own, workspace)
	p, err := r.Sandbox.Start(ctx, supervise.Command{
		Path: s.Argv[0], Args: s.Argv, Dir: s.Cwd, Env: env, Scratch: own.base, Grace: grace,
		Stdin: bytes.NewReader(stdin), Stdout: stdout, Stderr: stderr,
	}, r.policy(s, own, workspace))
	if err != nil {
		return Output{}, err
	}
	out.Exit, err = p.Wait()
	out.Stdout = stdout.buf
	out.Stderr, out.StderrCut = stderr.Text(true)
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return out, err
}

// dirs are the directories that one script gets.
type dirs struct{ base, home, tmp string }

func makeDirs(parent string) (dirs, error) {
	base, err := os.MkdirTemp(parent, "sdd-eval-script-")
	if err != nil {
		return dirs{}, err
	}
	d := dirs{base: base}
	if d.base, err = filepath.EvalSymlinks(base); err == nil { // where the system's is a link, as on macOS
		d.home, d.tmp = filepath.Join(d.base, "home"), filepath.Join(d.base, "tmp")
		err = errors.Join(os.Mkdir(d.home, 0o700), os.Mkdir(d.tmp, 0o700))
	}
	if err != nil {
		return dirs{}, errors.Join(err, disk.RemoveAll(base))
	}
	return d, nil
}

func (d dirs) remove() error { return disk.RemoveAll(d.base) }

// policy returns what a script may touch: its own directories; the workspace, to be read, and the caches of toolchains; and,
// unless it is kept apart, the project without what is secret.
func (r *Runner) policy(s Script, own dirs, workspace string) confine.Policy {
	p := confine.Policy{
		Write: append([]string{own.home, own.tmp}, s.Write...), Read: slices.Concat(r.Read, toolcache.Find(r.Environ).Paths()), Network: s.Network,
	}
	if workspace != "" {
		p.Read = append(p.Read, workspace)
	}
	if s.Apart {
		p.Private = append(p.Private, r.Root)
		return p
	}
	p.Programs = s.Argv[1:] // a script may lie outside of the project
	p.Read = append(p.Read, r.Root, s.Cwd)
	p.Hide = r.secrets()
	return p
}

// secrets returns what of the project scripts may not read: its repository, where the addresses of others may hold
// passwords, and the files that Secret names. They are looked for once: a run does not last long.
func (r *Runner) secrets() []string {
	r.hide.Do(func() {
		r.hidden = append(r.hidden, filepath.Join(r.Root, ".git"))
		if r.Secret == nil {
			return
		}
		// What cannot be read cannot be read by scripts either.
		_ = filepath.WalkDir(r.Root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case e.IsDir() && slices.Contains(passedOver, e.Name()):
				return fs.SkipDir
			case !e.IsDir() && r.Secret(path):
				r.hidden = append(r.hidden, path)
			}
			return nil
		})
	})
	return r.hidden
}

// passedOver are directories, large ones, that are made of other files.
var passedOver = []string{".git", "node_modules", ".venv", "target", ".llman"}

// environment returns what every child gets, and where the toolchains' caches are: with a fresh HOME a test would build
// the standard library anew.
func (r *Runner) environment(s Script, own dirs, workspace string) []string {
	if workspace == "" {
		workspace = own.base // no PATH leads there, and git finds nothing above it
	}
	env := environ.ForChild(environ.Spec{
		Environ: r.Environ, Workspace: workspace, Home: own.home, Tmp: own.tmp, Pass: r.Pass,
	})
	env = slices.DeleteFunc(env, func(kv string) bool { // which Pass may have let through
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(toolcache.Names, name)
	})
	env = append(env, toolcache.Find(r.Environ).Variables(own.home, !s.Network)...)
	return append(env, s.Env...)
}

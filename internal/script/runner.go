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
	// Sandbox confines scripts. It is required, even if it is of kind none.
	Sandbox *confine.Sandbox
	// Environ is our own environment. Scripts get the variables that every child gets, and those that Pass names.
	Environ []string
	Pass    []string
	// Set are variables that scripts get with these values.
	Set map[string]string
	// Root is the project's root, an absolute path. Scripts may read it, but not its git repository.
	Root string
	// Secret reports whether scripts may not read the file at a path below Root. If it is nil, they may read all files.
	Secret func(path string) bool
	// Read lists further files and directories that scripts may read.
	Read []string
	// Caches are the playbook's; Read has what they show.
	Caches []toolcache.Cache
	// Built, unless it is nil, returns a directory for [toolcache.Caches.WithBuilds], or an empty path. It gets the
	// command of a script in a copy of the workspace and its directory there; else nobody knows what a script runs.
	Built func(ctx context.Context, argv []string, cwd string) (string, error)
	// TempDir is the directory for the HOME and TMPDIR of scripts. If it is empty, it is the system's.
	TempDir string
	// Limits are what a script may use of the machine; those that are zero are the default ones.
	Limits supervise.Limits

	hide   sync.Once
	hidden []string
}

// grace is the time between SIGTERM and SIGKILL for a script that must end.
const grace = 250 * time.Millisecond

// Run runs a script that must succeed, and returns its standard output. The script may read the workspace, unless that
// is empty, and it need not read stdin. Errors are of type [*Error], except for scripts that are invalid.
func (r *Runner) Run(ctx context.Context, s Script, stdin []byte, workspace string) (stdout []byte, err error) {
	out, err := r.Exec(ctx, s, stdin, workspace)
	if err == nil && out.Exit != (supervise.Exit{}) {
		err = r.failed(s, errors.New(out.Exit.String()), out)
	}
	if err != nil {
		return nil, err
	}
	return out.Stdout, nil
}

// Exec runs a script as [Runner.Run] does, but does not judge its exit. It returns an error if the script could not be
// started, was stopped by its timeout or by ctx, or wrote too much.
func (r *Runner) Exec(ctx context.Context, s Script, stdin []byte, workspace string) (Output, error) {
	if err := s.check(); err != nil {
		return Output{}, err
	}
	if r.Sandbox == nil {
		return Output{}, r.failed(s, errors.New("there is no sandbox"), Output{})
	}
	out, err := r.exec(ctx, s, stdin, workspace)
	if err != nil {
		return Output{}, r.failed(s, err, out)
	}
	return out, nil
}

// failed returns the error of a script.
func (r *Runner) failed(s Script, err error, out Output) error {
	return &Error{Script: s.name(r.Root), Err: err, Stderr: end([]byte(out.Stderr)), Stdout: end(out.Stdout)}
}

// end returns the end of what a script wrote, as an error shows it.
func end(written []byte) string {
	tail := excerpt.Tail{Limit: maxShown}
	_, _ = tail.Write(written)
	text, _ := tail.Text(true)
	return text
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
	caches, err := r.findCaches(ctx, s, workspace)
	if err != nil {
		return Output{}, err
	}
	if err := caches.Lay(ctx, own.home); err != nil {
		return Output{}, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	late := fmt.Errorf("it did not end within its timeout of %v", s.timeout())
	ctx, cancel := context.WithTimeoutCause(ctx, s.timeout(), late)
	defer cancel()

	stdout, stderr := &bounded{over: stop}, &excerpt.Tail{Limit: keptStderr}
	env := r.environment(s, own, workspace, caches)
	p, err := r.Sandbox.Start(ctx, supervise.Command{
		Path: s.Argv[0], Args: s.Argv, Dir: s.Cwd, Env: env, Scratch: own.base, Grace: grace,
		Stdin: bytes.NewReader(stdin), Stdout: stdout, Stderr: stderr, Limits: r.Limits,
	}, r.policy(s, own, workspace, caches))
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

// findCaches returns the caches that a script may read.
func (r *Runner) findCaches(ctx context.Context, s Script, workspace string) (toolcache.Caches, error) {
	caches := toolcache.Find(r.Environ, r.Caches...)
	if r.Built == nil {
		return caches, nil
	}
	var argv []string
	cwd := ""
	if s.Apart && slices.Contains(s.Write, workspace) {
		rel, err := filepath.Rel(workspace, s.Cwd)
		if err != nil {
			return caches, err
		}
		argv, cwd = s.Argv, filepath.ToSlash(rel)
	}
	built, err := r.Built(ctx, argv, cwd)
	return caches.WithBuilds(built), err
}

// bounded keeps what is written to it up to a limit.
type bounded struct {
	buf  []byte
	over func(error) // called by the first write that exceeds the limit
	past bool        // over was called
}

// Write implements [io.Writer]. It never fails: over stops the script, whose output is discarded until then.
func (b *bounded) Write(p []byte) (int, error) {
	if room := maxStdout - len(b.buf); len(p) <= room {
		b.buf = append(b.buf, p...)
	} else if !b.past {
		b.past = true
		b.over(fmt.Errorf("its standard output exceeds the %d MiB limit", maxStdout>>20))
	}
	return len(p), nil
}

// dirs are the directories of one script.
type dirs struct{ base, home, tmp string }

func makeDirs(parent string) (dirs, error) {
	base, err := os.MkdirTemp(parent, "sdd-eval-script-")
	if err != nil {
		return dirs{}, err
	}
	d := dirs{base: base}
	if d.base, err = filepath.EvalSymlinks(base); err == nil { // the system's directory may be a link, as on macOS
		d.home, d.tmp = filepath.Join(d.base, "home"), filepath.Join(d.base, "tmp")
		err = errors.Join(os.Mkdir(d.home, 0o700), os.Mkdir(d.tmp, 0o700))
	}
	if err != nil {
		return dirs{}, errors.Join(err, disk.RemoveAll(base))
	}
	return d, nil
}

func (d dirs) remove() error { return disk.RemoveAll(d.base) }

// policy returns what a script may touch. It may write to its own directories. It may read the workspace, the caches of
// toolchains and, unless it is kept apart, the project without its secrets.
func (r *Runner) policy(s Script, own dirs, workspace string, caches toolcache.Caches) confine.Policy {
	p := confine.Policy{
		Write:   append([]string{own.home, own.tmp}, s.Write...),
		Read:    slices.Concat(r.Read, caches.Paths()),
		Network: s.Network,
	}
	if workspace != "" {
		p.Read = append(p.Read, workspace)
	}
	if s.Apart {
		if slices.Contains(s.Write, workspace) {
			p.Workspace = workspace
		}
		p.Private = append(p.Private, r.Root)
		return p
	}
	p.Programs = s.Argv[1:] // a script may be outside of the project
	p.Read = append(p.Read, r.Root, s.Cwd)
	p.Hide = r.secrets()
	return p
}

// secrets returns the paths in the project that scripts may not read: its repository, where addresses of remotes may
// have passwords, and the files for which Secret is true. It looks for them once.
func (r *Runner) secrets() []string {
	r.hide.Do(func() {
		r.hidden = append(r.hidden, filepath.Join(r.Root, ".git"))
		if r.Secret == nil {
			return
		}
		// Files that we cannot read need not be hidden.
		_ = filepath.WalkDir(r.Root, func(path string, e fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return nil
			case e.IsDir() && slices.Contains(generated, e.Name()):
				return fs.SkipDir
			case !e.IsDir() && r.Secret(path):
				r.hidden = append(r.hidden, path)
			}
			return nil
		})
	})
	return r.hidden
}

// generated lists the names of large directories with generated files, in which secrets are not looked for.
var generated = []string{".git", "node_modules", ".venv", "target", ".llman"}

// environment returns the variables that every child gets, those of the toolchains' caches, without which a test would
// build the standard library, and those of the script.
func (r *Runner) environment(s Script, own dirs, workspace string, caches toolcache.Caches) []string {
	if workspace == "" {
		workspace = own.base // PATH does not lead there, and git finds no repository above it
	}
	env := environ.ForChild(environ.Spec{
		Environ: r.Environ, Workspace: workspace, Home: own.home, Tmp: own.tmp, Pass: r.Pass,
		Set: r.Set,
	})
	env = append(caches.Without(env), caches.Variables(own.home, !s.Network)...) // Pass may name them
	return append(env, s.Env...)
}

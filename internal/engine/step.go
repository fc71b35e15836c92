package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/sandbox"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// shownOutput is how much of a command's output is kept, in bytes from its end.
const shownOutput = 8 << 10

// step runs one step of a unit.
func (a *attempt) step(ctx context.Context, s playbook.Step) (result.Step, error) {
	return runStep(ctx, a.Runner, s, a.unit.Values(), func(ctx context.Context, s playbook.Step) (string, error) {
		switch s.Uses {
		case playbook.ActionPrepare:
			return "", a.prepare(ctx)
		case playbook.ActionPrompt:
			return "", a.prompt(ctx)
		case "":
			a.touched = true
			return a.command(ctx, s, a.dirs.workspace)
		}
		return "", fmt.Errorf("action %s is not known here", s.Uses)
	})
}

// runStep resolves a step, does it and says how it ended. The error is that of a step about which nothing can be said.
func runStep(ctx context.Context, r *Runner, s playbook.Step, values playbook.Values,
	do func(context.Context, playbook.Step) (output string, err error),
) (result.Step, error) {
	start := r.now()
	res := result.Step{Name: stepName(s), Position: s.Position.String(), Outcome: result.Pass}
	s, err := r.pb.Resolve(s, values)
	if err == nil {
		res.Output, err = do(ctx, s)
	}
	res.Duration = r.now().Sub(start)
	var failure *stepFailure
	switch {
	case errors.As(err, &failure):
		res.Outcome, res.Reason = result.Fail, failure.reason
		return res, nil
	case err != nil:
		res.Outcome, res.Reason = result.Error, err.Error()
	}
	return res, err
}

// stepName is the step's name, else its action without the common prefix, else its command.
func stepName(s playbook.Step) string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Uses != "":
		return strings.TrimPrefix(s.Uses, "builtin:sdd-eval/")
	default:
		return s.Run
	}
}

// prepare makes the workspace that the agent starts with. Where nobody looks at the files, it is enough to know what they
// would be.
func (a *attempt) prepare(ctx context.Context) error {
	t, err := a.loadTemplate(ctx)
	if err != nil {
		return err
	}
	if a.dirs.workspace == "" {
		m, known, err := t.Manifest(a.unit.Case.Files)
		if err != nil {
			return err
		}
		if known {
			a.manifest, a.prepared = m, true
			return nil
		}
		if a.dirs, err = makeUnitDirs(a.cfg.TempDir, a.live); err != nil {
			return err
		}
	}
	var notes []workspace.Note
	a.manifest, notes, err = t.Prepare(ctx, a.dirs.workspace, a.unit.Case.Files)
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintf(a.log, "%s: workspace: %s is left out: %s\n", a.unit.ID(), n.Path, n.Reason)
	}
	a.prepared = true
	if a.live {
		return workspace.Stamp(a.dirs.workspace, a.manifest, a.now().Truncate(time.Second))
	}
	return nil
}

// loadTemplate reads the files that workspaces are made of, once for all units.
func (r *Runner) loadTemplate(ctx context.Context) (*workspace.Template, error) {
	r.template.mu.Lock()
	defer r.template.mu.Unlock()
	if r.template.t == nil {
		t, err := workspace.Load(ctx, workspace.Source{
			Dir: r.source, Include: r.pb.Workspace.Include, Exclude: r.exclude,
		})
		if err != nil {
			return nil, err
		}
		r.template.t = t
	}
	return r.template.t, nil
}

// command runs one command in root and returns the end of what it printed.
func (r *Runner) command(ctx context.Context, s playbook.Step, root string) (string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, r.timeout(), fmt.Errorf("it took longer than %v", r.timeout()))
	defer cancel()
	dir, err := openDir(root, s.Cwd)
	if err != nil {
		return "", err
	}
	defer dir.Close()
	out := &tail{max: shownOutput}
	p, err := supervise.Start(ctx, supervise.Command{
		Path: s.Args[0], Args: s.Args, DirFile: dir,
		Env:    sandbox.StepEnvironment(r.cfg.Environ, root, r.pb.Env.Pass),
		Stdout: out, Stderr: out,
	})
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.Run, err)
	}
	exit, err := p.Wait()
	switch {
	case ctx.Err() != nil:
		return out.String(), fmt.Errorf("%s: %w", s.Run, context.Cause(ctx))
	case err != nil:
		return out.String(), fmt.Errorf("%s: %w", s.Run, err)
	case exit != supervise.Exit{}:
		return out.String(), &stepFailure{reason: fmt.Sprintf("%s: %s", s.Run, exit)}
	}
	return out.String(), nil
}

// openDir opens a directory below root. No link and nothing but directories may be on the way.
func openDir(root, dir string) (*os.File, error) {
	r, err := os.OpenRoot(root)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	path := "."
	for _, name := range strings.FieldsFunc(dir, func(c rune) bool { return c == '/' }) {
		path = filepath.Join(path, name)
		info, err := r.Lstat(path)
		if err != nil {
			return nil, fmt.Errorf("cwd: %w", err)
		}
		if !info.IsDir() {
			return nil, fmt.Errorf("cwd: %s is not a directory", filepath.ToSlash(path))
		}
	}
	return r.Open(path)
}

// tail keeps the end of what is written to it.
type tail struct {
	max     int
	buf     []byte
	dropped bool
}

var _ io.Writer = (*tail)(nil)

func (t *tail) Write(p []byte) (int, error) {
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - t.max; over > t.max { // seldom, so that long outputs are not copied over and over
		t.buf = append(t.buf[:0], t.buf[over:]...)
		t.dropped = true
	}
	return len(p), nil
}

// String returns what is kept, from the beginning of a line, without the final line end.
func (t *tail) String() string {
	b := t.buf
	cut := t.dropped
	if over := len(b) - t.max; over > 0 {
		b, cut = b[over:], true
	}
	s := strings.TrimRight(strings.ToValidUTF8(string(b), "\uFFFD"), "\n")
	if !cut {
		return s
	}
	if _, after, ok := strings.Cut(s, "\n"); ok {
		s = after
	}
	return "...\n" + s
}

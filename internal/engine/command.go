package engine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/spec"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
)

// shownOutput is how much of a command's output is kept, in bytes from its end.
const shownOutput = 8 << 10

// runCommand runs the command of a run step.
func (r *Runner) runCommand(ctx context.Context, s spec.Step, dirs *unitDirs) (*result.Command, error) {
	timeout := r.pb.UnitTimeout()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %v", timeout))
	defer cancel()
	if err := dirs.makeStepDirs(r.cfg.TempDir); err != nil {
		return nil, err
	}
	dir, err := openDir(dirs.workspace, s.Cwd)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	start := r.now()
	out := &excerpt.Tail{Limit: shownOutput}
	p, err := r.start(ctx, supervise.Command{
		Path: s.Args[0], Args: s.Args, DirFile: dir, Env: r.stepEnvironment(dirs), Stdout: out, Stderr: out, Scratch: dirs.steps,
	}, confine.Policy{
		Write: []string{dirs.workspace, dirs.stepHome(), dirs.stepTmp()}, Network: r.pb.Sandbox.Network == spec.NetworkAll,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Run, err)
	}
	exit, err := p.Wait()
	took := result.Duration(r.now().Sub(start))
	c := &result.Command{Source: result.FromStep, Command: strings.Join(s.Args, " "), Cwd: s.Cwd, Signal: exit.Signal, Duration: &took}
	c.Output, c.Cut = lastLines(out)
	if exit.Code >= 0 {
		c.ExitCode = &exit.Code
	}
	switch {
	case ctx.Err() != nil:
		return c, fmt.Errorf("%s: %w", s.Run, context.Cause(ctx))
	case err != nil:
		return c, fmt.Errorf("%s: %w", s.Run, err)
	case exit != supervise.Exit{}:
		return c, &stepFailure{reason: fmt.Sprintf("%s: %s", s.Run, exit)}
	}
	return c, nil
}

// stepEnvironment is the environment of run steps. Their HOME is not the user's, which they may not read, nor that of the
// agent, which is not there in a replay.
func (r *Runner) stepEnvironment(dirs *unitDirs) []string {
	env := environ.ForStep(r.cfg.Environ, dirs.workspace, r.pb.Env.Pass, r.givenNames()...)
	env = slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(toolcache.Names, name) || slices.Contains(inHome, name) && !slices.Contains(r.pb.Env.Pass, name)
	})
	env = append(env, "HOME="+dirs.stepHome(), "TMPDIR="+dirs.stepTmp(), "TMPPREFIX="+filepath.Join(dirs.stepTmp(), "zsh"))
	return append(env, toolcache.Find(r.cfg.Environ).Variables(dirs.stepHome(), r.pb.Sandbox.Network != spec.NetworkAll)...)
}

// inHome are variables that tell programs where to look for the user's files instead of below HOME.
var inHome = []string{
	"HOME", "TMPDIR", "TMPPREFIX",
	"XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_RUNTIME_DIR",
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

// lastLines returns what out kept, from the beginning of a line, without the final line end.
func lastLines(out *excerpt.Tail) (text string, cut bool) {
	text, cut = out.Text(true)
	text = strings.TrimRight(text, "\n")
	if !cut {
		return text, false
	}
	if _, after, ok := strings.Cut(text, "\n"); ok {
		text = after
	}
	return "...\n" + text, true
}

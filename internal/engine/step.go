package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/toolcache"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// does reports whether one of the steps has an action of that kind.
func does(steps []plan.Step, kind func(action.Action) bool) bool {
	return slices.ContainsFunc(steps, func(s plan.Step) bool { return kind(action.Of(s.Uses)) })
}

func startsChild(a action.Action) bool { return a.StartsChild }
func needsFiles(a action.Action) bool  { return a.Files }

// unitStep is a step of a unit. It implements [action.Unit].
type unitStep struct {
	*attempt
	step    plan.Step
	command *result.Command // that was run
}

// runUnitStep runs one step of a unit.
func (a *attempt) runUnitStep(ctx context.Context, s plan.Step) (result.Step, error) {
	return a.runStep(s, a.unit.Values(), func(s plan.Step) (*result.Command, error) {
		u := &unitStep{attempt: a, step: s}
		do := action.Of(s.Uses).InUnit
		if do == nil {
			return nil, fmt.Errorf("action %s must be in a job without `strategy`", s.Uses)
		}
		err := do(u, ctx)
		return u.command, err
	})
}

func (u *unitStep) Prepare(ctx context.Context) error    { return u.site.prepare(ctx) }
func (u *unitStep) WriteStyle(ctx context.Context) error { return u.site.writeStyle(ctx) }
func (u *unitStep) Ask(ctx context.Context) error        { return u.ask(ctx, u.unit.PromptsOf(u.step)) }

func (u *unitStep) Exhaust(ctx context.Context) error {
	err := u.Ask(ctx)
	if err == nil {
		u.result.Stop = result.StopByLimit
	}
	return err
}

func (u *unitStep) Command(ctx context.Context) (err error) {
	u.site.touched = true
	u.command, err = u.runCommand(ctx, u.step, &u.site.dirs, u.pb.EnvOf(u.unit.Variant), u.start)
	if note := compiledMuch(u.site.dirs.stepHome(), u.step.Args); note != "" {
		u.result.Warnings = append(u.result.Warnings, fmt.Sprintf("step %q: %s", stepName(u.step), note))
	}
	return err
}

// runStep resolves a step, does it and says how it ended. The error is not nil only if the step ended in error.
func (r *Runner) runStep(s plan.Step, values plan.Values,
	do func(plan.Step) (*result.Command, error),
) (result.Step, error) {
	start := r.now()
	res := result.Step{Name: stepName(s), Position: s.Position.String(), Outcome: result.Pass}
	err := panics.Catch(func() error {
		s, err := r.pb.Resolve(s, r.withRun(values))
		if err == nil {
			res.Command, err = do(s)
		}
		return err
	})
	if res.Command != nil {
		res.Output = res.Command.Output
	}
	res.Duration = result.Duration(r.now().Sub(start))
	skip, skipped := errors.AsType[stepSkipped](err)
	failure, failed := errors.AsType[*stepFailure](err)
	switch {
	case skipped:
		res.Outcome, res.Reason = result.Skip, skip.Error()
		return res, nil
	case failed:
		res.Outcome, res.Reason = result.Fail, failure.reason
		return res, nil
	case err != nil:
		res.Outcome, res.Reason = result.Error, err.Error()
	}
	return res, err
}

// withRun adds what placeholders can say of the run, if there is one.
func (r *Runner) withRun(values plan.Values) plan.Values {
	if r.kept != nil {
		values["run.run_id"], values["run.run_dir"] = r.kept.ID(), r.kept.Dir()
	}
	return values
}

// stepName is the step's name, else its action without the common prefix, else its command.
func stepName(s plan.Step) string {
	switch {
	case s.Name != "":
		return s.Name
	case s.Uses != "":
		return strings.TrimPrefix(s.Uses, "builtin:sdd-eval/")
	default:
		return s.Run
	}
}

// stepFailure is a step that says that the agent did wrong; every other error says that we know nothing about it.
type stepFailure struct {
	reason string
}

func (f *stepFailure) Error() string { return f.reason }

// stepSkipped is a step that does not apply in this run.
type stepSkipped string

func (s stepSkipped) Error() string { return string(s) }

// shownOutput is how much of a command's output is kept, in bytes from its end.
const shownOutput = 8 << 10

// starter starts a child that is confined.
type starter func(context.Context, supervise.Command, confine.Policy) (*supervise.Process, error)

// runCommand runs the command of a run step.
func (r *Runner) runCommand(
	ctx context.Context, s plan.Step, dirs *unitDirs, env playbook.Env, start starter,
) (*result.Command, error) {
	built, err := r.builtBefore(ctx, s.Args, s.Cwd)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Run, err)
	}
	caches := toolcache.Find(r.cfg.Environ, r.caches...).WithBuilds(built)
	timeout := r.pb.UnitTimeout()
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("it took longer than %v", timeout))
	defer cancel()
	if err := dirs.makeStepDirs(r.cfg.TempDir); err != nil {
		return nil, err
	}
	if !dirs.laid {
		dirs.laid = true
		if err := caches.Lay(ctx, dirs.stepHome()); err != nil {
			return nil, err
		}
	}
	dir, err := openDir(dirs.workspace, s.Cwd)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	began := r.now()
	out := &excerpt.Tail{Limit: shownOutput}
	masked := r.secrets.Writer(out) // before it is cut: the end of a secret alone would not be found
	p, err := start(ctx, supervise.Command{
		Path: s.Args[0], Args: s.Args, DirFile: dir, Env: r.stepEnvironment(dirs, caches, env), Stdout: masked,
		Stderr: masked, Scratch: dirs.steps,
	}, confine.Policy{
		Read:      caches.Paths(),
		Write:     []string{dirs.workspace, dirs.stepHome(), dirs.stepTmp()},
		Workspace: dirs.workspace,
		Network:   r.pb.Sandbox.Network == plan.NetworkAll,
	})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.Run, err)
	}
	exit, err := p.Wait()
	took := result.Duration(r.now().Sub(began))
	c := &result.Command{
		Source: result.FromStep, Command: strings.Join(s.Args, " "), Cwd: s.Cwd, Signal: exit.Signal,
		Duration: &took,
	}
	_ = masked.Close() // a Tail takes everything
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

// stepEnvironment is the environment of run steps. Their HOME is not the user's, which they may not read, nor that of
// the agent, which is not there in a replay.
func (r *Runner) stepEnvironment(dirs *unitDirs, caches toolcache.Caches, given playbook.Env) []string {
	env := caches.Without(
		environ.ForStep(r.cfg.Environ, dirs.workspace, given.Pass, given.Set, r.givenNames()...))
	env = slices.DeleteFunc(env, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		_, set := given.Set[name]
		return slices.Contains(inHome, name) && !set && !slices.Contains(given.Pass, name)
	})
	env = append(env, "HOME="+dirs.stepHome(), "TMPDIR="+dirs.stepTmp(),
		"TMPPREFIX="+filepath.Join(dirs.stepTmp(), "zsh"))
	return append(env, caches.Variables(dirs.stepHome(), r.pb.Sandbox.Network != plan.NetworkAll)...)
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

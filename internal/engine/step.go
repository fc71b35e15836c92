package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// does reports whether one of the steps has an action of that kind.
func does(steps []spec.Step, kind func(action.Action) bool) bool {
	return slices.ContainsFunc(steps, func(s spec.Step) bool { return kind(action.Of(s.Uses)) })
}

func startsChild(a action.Action) bool { return a.StartsChild }
func needsFiles(a action.Action) bool  { return a.Files }

// unitStep is a step of a unit. It implements [action.Unit].
type unitStep struct {
	*attempt
	step    spec.Step
	command *result.Command // that was run
}

// runUnitStep runs one step of a unit.
func (a *attempt) runUnitStep(ctx context.Context, s spec.Step) (result.Step, error) {
	return a.runStep(s, a.unit.Values(), func(s spec.Step) (*result.Command, error) {
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
	u.command, err = u.runCommand(ctx, u.step, &u.site.dirs)
	return err
}

// runStep resolves a step, does it and says how it ended. The error is not nil only if the step ended in error.
func (r *Runner) runStep(s spec.Step, values spec.Values,
	do func(spec.Step) (*result.Command, error),
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
func (r *Runner) withRun(values spec.Values) spec.Values {
	if r.kept != nil {
		values["run.run_id"], values["run.run_dir"] = r.kept.ID(), r.kept.Dir()
	}
	return values
}

// stepName is the step's name, else its action without the common prefix, else its command.
func stepName(s spec.Step) string {
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

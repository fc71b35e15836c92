package engine

import (
	"context"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Job runs one job outside the matrix. Its commands start in a directory of their own.
func (r *Runner) Job(ctx context.Context, j plan.Job) (res result.Job) {
	start := r.now()
	res = result.Job{ID: j.ID, Outcome: result.Pass, Started: start.UTC()}
	defer func() {
		res.Duration = result.Duration(r.now().Sub(start))
		r.redactJob(&res)
		r.noteJob(j.ID, res.Outcome)
	}()
	if why := r.blocked(j.Needs); why != "" && !reports(j) {
		res.Outcome, res.Reason = result.Skip, why
		return res
	}
	dirs, err := r.makeJobDirs()
	if err != nil {
		res.Outcome, res.Reason = result.Error, err.Error()
		return res
	}
	defer func() {
		if err := dirs.remove(); err != nil {
			res.Outcome, res.Reason = result.Error, err.Error()
		}
	}()
	for _, s := range j.Steps {
		if res.Outcome != result.Pass {
			res.Steps = append(res.Steps, skipped(s))
			continue
		}
		step, err := r.runJobStep(ctx, s, &dirs)
		res.Steps = append(res.Steps, step)
		if step.Command != nil {
			res.Commands++
		}
		switch {
		case err != nil:
			res.Outcome = result.Error
		case step.Outcome == result.Skip && len(j.Steps) == 1:
			res.Outcome, res.Reason = result.Skip, step.Reason
		case step.Outcome != result.Skip:
			res.Outcome = step.Outcome
		}
	}
	return res
}

// makeJobDirs returns where a job outside the matrix runs: in the run's directory, if there is one.
func (r *Runner) makeJobDirs() (unitDirs, error) {
	if r.kept != nil {
		return unitDirs{workspace: r.kept.Dir()}, nil
	}
	return makeUnitDirs(r.cfg.TempDir, false, nil)
}

// jobStep is a step of a job outside the matrix. It implements [action.Run].
type jobStep struct {
	*Runner
	step    plan.Step
	dirs    *unitDirs
	command *result.Command // that was run
}

func (r *Runner) runJobStep(ctx context.Context, s plan.Step, dirs *unitDirs) (result.Step, error) {
	return r.runStep(s, r.pb.Values(), func(s plan.Step) (*result.Command, error) {
		j := &jobStep{Runner: r, step: s, dirs: dirs}
		do := action.Of(s.Uses).InRun
		if do == nil {
			return nil, fmt.Errorf("action %s must be in a matrix job", s.Uses)
		}
		err := do(j, ctx)
		return j.command, err
	})
}

func (j *jobStep) Report(ctx context.Context) error {
	if j.kept == nil || j.cfg.Keep.Report == nil {
		return stepSkipped("there is no run directory to report on: `sdd-eval run` makes one")
	}
	return j.cfg.Keep.Report(ctx, j.kept, false)
}

func (j *jobStep) Command(ctx context.Context) (err error) {
	j.command, err = j.runCommand(ctx, j.step, j.dirs, j.pb.Env, j.start)
	return err
}

// reports reports whether a job makes the reports, which are wanted most where something did not pass.
func reports(j plan.Job) bool {
	return does(j.Steps, func(a action.Action) bool { return a.Reports })
}

func skipped(s plan.Step) result.Step {
	return result.Step{
		Name: stepName(s), Position: s.Position.String(), Outcome: result.Skip, Reason: notReached,
	}
}

// notReached is why a step was skipped.
const notReached = "a step before it did not pass"

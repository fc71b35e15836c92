package engine

import (
	"context"
	"errors"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Job runs one job outside the matrix. Its commands start in a directory of their own.
func (r *Runner) Job(ctx context.Context, j playbook.Job) (res result.Job) {
	start := r.now()
	res = result.Job{ID: j.ID, Outcome: result.Pass}
	defer func() {
		res.Duration = result.Duration(r.now().Sub(start))
		r.noteJob(j.ID, res.Outcome)
	}()
	if why := r.blocked(j.Needs); why != "" {
		res.Outcome, res.Reason = result.Skip, why
		return res
	}
	dirs, err := makeUnitDirs(r.cfg.TempDir, false)
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
		step, err := runStep(ctx, r, s, r.pb.Values(), func(ctx context.Context, s playbook.Step) (string, error) {
			if s.Run == "" {
				return "", errors.New("outside the matrix there is nothing for an action to act on")
			}
			return r.command(ctx, s, dirs.workspace)
		})
		res.Steps = append(res.Steps, step)
		if err != nil {
			res.Outcome = result.Error
		} else {
			res.Outcome = step.Outcome
		}
	}
	return res
}

func skipped(s playbook.Step) result.Step {
	return result.Step{
		Name: stepName(s), Position: s.Position.String(), Outcome: result.Skip, Reason: "a step before it did not pass",
	}
}

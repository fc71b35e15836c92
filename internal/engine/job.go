package engine

import (
	"context"
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Job runs one job outside the matrix. Its commands start in a directory of their own.
func (r *Runner) Job(ctx context.Context, j playbook.Job) (res result.Job) {
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
		step, err := runStep(ctx, r, s, r.pb.Values(), func(ctx context.Context, s playbook.Step) (*result.Command, error) {
			if s.Uses != "" {
				return nil, r.jobAction(ctx, s.Uses)
			}
			return r.command(ctx, s, &dirs)
		})
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
	if r.archive.RunDir != "" {
		return unitDirs{workspace: r.archive.RunDir}, nil
	}
	return makeUnitDirs(r.cfg.TempDir, false, nil)
}

// jobAction does what a job outside the matrix can ask for.
func (r *Runner) jobAction(ctx context.Context, uses string) error {
	if uses != playbook.ActionReport {
		return fmt.Errorf("action %s acts for a variant, and outside the matrix there is none", uses)
	}
	if r.cfg.Report == nil {
		return stepSkipped("there is no run directory to report on: `sdd-eval run` makes one")
	}
	return r.cfg.Report(ctx)
}

// reports reports whether a job makes the reports, which are wanted most where something did not pass.
func reports(j playbook.Job) bool {
	return slices.ContainsFunc(j.Steps, func(s playbook.Step) bool { return s.Uses == playbook.ActionReport })
}

func skipped(s playbook.Step) result.Step {
	return result.Step{
		Name: stepName(s), Position: s.Position.String(), Outcome: result.Skip, Reason: "a step before it did not pass",
	}
}

package engine

import (
	"context"

	"golang.org/x/sync/errgroup"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// runJobs runs those of the jobs outside the matrix that are selected, nil being all, and have not run yet.
func (r *run) runJobs(ctx context.Context, jobs []spec.Job, selected func(spec.Job) bool) error {
	for _, j := range jobs {
		if ctx.Err() != nil { // what it needs may not have run: nothing is known about the job
			return nil
		}
		if r.ran(j.ID) || selected != nil && !selected(j) {
			continue
		}
		if err := r.runJob(ctx, j); err != nil {
			return err
		}
	}
	return nil
}

func (r *run) runJob(ctx context.Context, j spec.Job) error {
	res := r.Job(ctx, j)
	res.Interrupted = ctx.Err() != nil && res.Outcome == result.Error
	if r.kept != nil && !res.Interrupted {
		if err := r.kept.AppendJob(res); err != nil {
			return err
		}
	}
	r.sink.JobEnds(res)
	return nil
}

// runUnits runs the units in listed order, several at a time.
func (r *run) runUnits(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group errgroup.Group
	group.SetLimit(r.parallel())
	ended := make(map[string]bool, len(r.units))
	for _, u := range r.units {
		ended[u.ID] = true
	}
	for _, u := range r.plan.Units {
		if ctx.Err() != nil {
			break
		}
		if ended[u.ID()] || r.cfg.Selected != nil && !r.cfg.Selected(u) {
			continue
		}
		group.Go(func() error {
			if ctx.Err() != nil {
				return nil
			}
			err := r.runUnit(ctx, u)
			if err != nil { // nothing that follows could be kept either
				cancel(err)
			}
			return err
		})
	}
	return group.Wait()
}

func (r *run) runUnit(ctx context.Context, u spec.Unit) error {
	notes := r.sink.UnitStarts(u) // which may wait
	var res result.Unit
	if err := context.Cause(ctx); err != nil {
		res = newUnit(u, r.now(), nil)
		res.Outcome, res.Reason = result.Error, "the unit was not run: "+err.Error()
	} else {
		res = r.Unit(ctx, u, notes)
	}
	res.Interrupted = ctx.Err() != nil && res.Outcome == result.Error // nothing is known
	if !res.Interrupted {
		if r.kept != nil {
			if err := r.kept.Append(res); err != nil {
				return err
			}
		}
		r.tracer.Unit(res)
	}
	r.sink.UnitEnds(u, res)
	return nil
}

package engine

import (
	"context"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// Preview is what a run would do.
type Preview struct {
	// Sandbox confines agents and their code, as in the manifest of a run.
	Sandbox string
	// Parallel is how many units run at a time.
	Parallel int
	// Missing says which programs the playbook requires that are not there, so that its units are skipped; or empty.
	Missing string
	// Units are those that are selected, in order.
	Units []PreviewedUnit
	// Before and After are the jobs outside the matrix.
	Before, After []plan.Job
}

// PreviewedUnit is what a run would do with a unit.
type PreviewedUnit struct {
	plan.Unit
	// StartsAgent says that an agent is started; Cassette is the file that is written then, if Records, or read, if
	// Replays. There may be none to read: it is Missing.
	StartsAgent, Records, Replays, Missing bool
	Cassette                               string
	// Asks has the names of the evaluators that ask a model where no answer is recorded, if models may be asked.
	Asks []string
}

// Preview makes all checks that come before a run, with the errors of [Runner.Run], and returns what it would do. It
// starts nothing of the playbook, and writes nothing.
func (r *Runner) Preview(ctx context.Context) (Preview, error) {
	checked := &run{Runner: r}
	if _, err := checked.check(ctx); err != nil {
		return Preview{}, &InputError{err}
	}
	missing, err := r.missingPrograms()
	if err != nil {
		return Preview{}, &InputError{err}
	}
	p := Preview{
		Sandbox: checked.properties.String(), Parallel: r.parallel(), Missing: missing, Before: r.Before(),
		After: r.After(),
	}
	for _, u := range r.plan.Units {
		if r.cfg.Selected == nil || r.cfg.Selected(u) {
			p.Units = append(p.Units, r.previewUnit(u))
		}
	}
	return p, nil
}

func (r *Runner) previewUnit(u plan.Unit) PreviewedUnit {
	p := PreviewedUnit{Unit: u}
	if slices.ContainsFunc(u.Steps, plan.Step.Prompts) {
		role := r.roleOf(u)
		p.StartsAgent, p.Records, p.Replays = role.runsAgent(), role == records, role.needsTape()
		p.Missing = p.Replays && !cassette.Exists(r.CassettePath(u))
		p.Cassette = r.relCassette(u)
	}
	for _, e := range u.Evaluators {
		if e.Config.(evaluator.Evaluator).Needs().Asks() {
			p.Asks = append(p.Asks, e.Name)
		}
	}
	return p
}

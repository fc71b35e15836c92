package engine

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// A unit can be judged as if its agent had done something else than what is recorded: package mutate asks for that.

// Recording returns the unit's cassette, which must not be changed, and shows look the files that the agent began with.
// They are there until look returns. It prepares the unit's workspace and runs nothing that the playbook names.
func (r *Runner) Recording(
	ctx context.Context, u plan.Unit, look func(workspace.Files, workspace.Manifest) error,
) (c *cassette.Cassette, err error) {
	a := r.newAttempt(u, replays, io.Discard, newUnit(u, r.now(), nil))
	defer func() { err = errors.Join(err, a.site.dirs.remove()) }()
	if err := a.openDirs(ctx); err != nil {
		return nil, err
	}
	if err := a.prepareFor(ctx); err != nil {
		return nil, fmt.Errorf("%s: %w", u.ID(), err)
	}
	if err := a.tape.open(a.site.manifest); err != nil {
		return nil, fault.Advise(err, r.cfg.Command(Record, u))
	}
	return a.tape.recorded, look(a.site.files(), a.site.manifest)
}

// Recast judges a unit as if c were its cassette, with its steps and evaluators. Nothing is kept or recorded, and what
// models say of it comes from the unit's recording alone. Its jobs before are not waited for.
func (r *Runner) Recast(ctx context.Context, u plan.Unit, c *cassette.Cassette) result.Unit {
	a := r.newAttempt(u, rehearses, io.Discard, newUnit(u, r.now(), nil))
	a.tape.recast = c
	if err := panics.Catch(func() error { return a.run(ctx) }); err != nil {
		a.result.Outcome, a.result.Reason, a.result.Next = result.Error, err.Error(), fault.Advice(err)
	}
	r.redact(&a.result)
	return a.result
}

// StartsChildrenFor reports whether judging a replay of the unit starts processes.
func (r *Runner) StartsChildrenFor(u plan.Unit) bool { return r.startsChildren(u) }

package engine

import (
	"context"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// Where a sandbox leaves the modes of files open, as Landlock does, a process can make what others need unreadable.
// There the units of this process that start children run one at a time, and what of the run's directory one of them
// has closed is opened again before the next.

// turn is taken by the unit or job that may start children.
var turn = make(chan struct{}, 1)

// OneAtATime is what the record of a run says of its sandbox, after its properties.
const OneAtATime = "; units that start processes run one at a time"

// oneAtATime reports whether units that start children have to wait for each other.
func (r *run) oneAtATime() bool {
	return r.properties.Kind != confine.None && slices.Contains(r.properties.Open, confine.FileModes)
}

// startsChildren reports whether a unit starts what has to be confined.
func (r *Runner) startsChildren(u plan.Unit) bool {
	return r.startsAgent(u) || evaluatorNeeds(u)&evaluator.StartsChild != 0 || does(u.Steps, startsChild) ||
		r.asksAgents(u)
}

// takeTurn waits until no other unit or job may start children, and returns the function that ends that. It is nil if
// ctx has ended before.
func (r *run) takeTurn(ctx context.Context, starts bool) (end func()) {
	if ctx.Err() != nil {
		return nil
	}
	switch {
	case !starts:
		return func() {}
	case !r.oneAtATime():
		return r.starters.begin()
	}
	select {
	case turn <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	begun := r.starters.begin()
	return func() {
		begun()
		if r.kept != nil {
			r.kept.Reopen()
		}
		<-turn
	}
}

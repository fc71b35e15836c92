package engine

import (
	"context"
	"errors"
	"io"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

// Greeting is what is known of an agent that has said hello.
type Greeting struct {
	session.Identity
	session.Offers
	// Sandbox is what confined the agent.
	Sandbox confine.Properties
}

// Greet starts the agent of the plan's first unit as a run would, opens a session, and ends it. It asks the agent
// nothing.
func (r *Runner) Greet(ctx context.Context, log io.Writer) (g Greeting, err error) {
	if err := r.checkGo(); err != nil {
		return g, err
	}
	if g.Sandbox, err = r.properties(ctx); err != nil {
		return g, err
	}
	u := r.plan.Units[0]
	a := r.newAttempt(u, lives, log, result.Unit{})
	if err := a.openDirs(ctx); err != nil {
		return g, err
	}
	defer func() { err = errors.Join(err, a.endSession(ctx), a.site.dirs.remove()) }()
	if err := a.openSession(ctx); err != nil {
		return g, r.adviseLimit(err)
	}
	g.Identity, g.Offers = a.session.Identity(), a.session.Offers()
	return g, nil
}

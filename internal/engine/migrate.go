package engine

import (
	"errors"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Migrate makes a unit's cassette what it would be if its session were recorded today, and reports whether that changes
// it; with dry it does not change it. A unit without a cassette has nothing to migrate.
func (r *Runner) Migrate(u playbook.Unit, dry bool) (changed bool, err error) {
	path := r.CassettePath(u)
	if !cassette.Exists(path) {
		return false, nil
	}
	kind := u.Variant.Agent.Kind
	profile, ok := agent.Lookup(kind)
	if !ok {
		return false, fmt.Errorf("%s: unknown agent kind %q", u.ID(), kind)
	}
	changed, err = cassette.Migrate(path, u.ID(), cassette.NewNormaliser(nil, r.pb.Cassette.Normalise, profile.Volatile), dry)
	if _, ok := errors.AsType[*cassette.UnitError](err); ok {
		err = fmt.Errorf("%s:1: %w", r.relCassette(u), err)
	}
	return changed, r.shorten(err, u)
}

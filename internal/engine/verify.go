package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/judgment"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// The kinds of a [Defect].
const (
	DefectMissing  = "missing"
	DefectStale    = "stale" // recorded from something else, or too long ago
	DefectCorrupt  = "corrupt"
	DefectOrphaned = "orphaned" // of no unit
)

// Defect is what is wrong with a recording.
type Defect struct {
	Kind string
	// File is relative to the root, if it is below it.
	File   string
	Reason string // may have several lines
}

// Verify returns what keeps the unit from being replayed, and warnings that a replay would give. It prepares the unit's
// workspace and runs nothing that the playbook names. Whether judges would still ask what is recorded is not known
// without asking them.
func (r *Runner) Verify(ctx context.Context, u spec.Unit) (defects []Defect, warnings []string, err error) {
	a := r.newAttempt(u, replays, io.Discard, newUnit(u, r.now(), nil))
	defer func() { err = errors.Join(err, a.site.dirs.remove()) }()
	if err := a.openDirs(); err != nil {
		return nil, nil, err
	}
	if err := a.prepareFor(ctx); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", u.ID(), err)
	}
	if err := a.tape.open(a.site.manifest); err != nil {
		d, known := a.tape.defect(err)
		if !known {
			return nil, nil, err
		}
		defects = append(defects, d)
	}
	path := judgment.Path(a.tape.path)
	if cassette.Exists(path) {
		if _, err := judgment.Open(path, judgment.Config{Mode: judgment.Replay, Secrets: r.secrets}); err != nil {
			defects = append(defects, Defect{DefectCorrupt, r.rel(path), strings.ReplaceAll(err.Error(), path, r.rel(path))})
		}
	}
	return defects, a.tape.warnings, nil
}

// prepareFor takes the steps that make the workspace which the agent begins with.
func (a *attempt) prepareFor(ctx context.Context) error {
	for _, s := range a.unit.Steps {
		switch do := action.Of(s.Uses); {
		case do.Asks():
			return nil
		case do.Setup:
			if err := do.InUnit(&unitStep{attempt: a, step: s}, ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// defect tells what an error says of the cassette, if it is about that.
func (t *tape) defect(err error) (d Defect, known bool) {
	d = Defect{File: t.name(), Reason: err.Error()}
	if _, ok := errors.AsType[*cassette.MissingError](err); ok {
		d.Kind, d.Reason = DefectMissing, t.unit.ID()+" was not recorded"
		return d, true
	}
	if stale, ok := errors.AsType[*cassette.StaleError](err); ok {
		d.Kind, d.Reason = DefectStale, ""
		for i, c := range stale.Changes {
			if i > 0 {
				d.Reason += "\n"
			}
			d.Reason += c.String()
		}
		return d, true
	}
	if _, ok := errors.AsType[*oldError](err); ok {
		d.Kind = DefectStale
		return d, true
	}
	d.Kind = DefectCorrupt
	if _, ok := errors.AsType[*cassette.CorruptError](err); ok {
		return d, true
	}
	_, ok := errors.AsType[*cassette.UnitError](err)
	return d, ok
}

// Orphans returns the recordings in the playbook's place that belong to no unit of it, absolute and sorted.
func (r *Runner) Orphans() ([]string, error) {
	files, err := cassette.List(r.cassettes(), r.stem())
	if err != nil {
		return nil, err
	}
	own := make(map[string]bool, 3*len(r.plan.Units))
	for _, u := range r.plan.Units {
		path := r.CassettePath(u)
		own[path], own[cassette.Compressed(path)], own[judgment.Path(path)] = true, true, true
	}
	return slices.DeleteFunc(files, func(file string) bool { return own[file] }), nil
}

// Migrate makes a unit's cassette what it would be if its session were recorded today, and reports whether that changes
// it; with dry it does not change it. A unit without a cassette has nothing to migrate.
func (r *Runner) Migrate(u spec.Unit, dry bool) (changed bool, err error) {
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

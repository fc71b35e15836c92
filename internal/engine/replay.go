package engine

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// openCassette opens the unit's cassette and refuses it if it was recorded from something else than what the playbook
// says now.
func (a *attempt) openCassette() (*cassette.Cassette, error) {
	c, err := cassette.Open(a.cassettePath)
	if err != nil {
		return nil, a.shorten(err, a.unit)
	}
	if err := c.CheckUnit(a.unit.ID()); err != nil {
		return nil, fmt.Errorf("%s:1: %w", a.relCassettePath(), err)
	}
	c.Path = a.relCassettePath()
	if err := a.checkAge(c); err != nil {
		return nil, err
	}
	if err := a.checkImported(c); err != nil {
		return nil, err
	}
	changes := c.Stale(a.fingerprints(), a.unit.Prompts())
	if c.Header.Level != a.level() {
		changes = slices.Insert(changes, 0, cassette.Change{Input: "cassette level", Was: c.Header.Level, Now: a.level()})
	}
	if len(changes) > 0 {
		err := &cassette.StaleError{Path: c.Path, Changes: changes}
		if a.cfg.Stale != StaleWarns {
			return nil, err
		}
		a.result.Warnings = append(a.result.Warnings, err.Error())
		a.stale = true
	}
	return c, nil
}

// level is what the unit's cassette replays.
func (a *attempt) level() string { return string(cmp.Or(a.pb.Cassette.Level, playbook.LevelRun)) }

// checkImported accepts a session that was imported, not recorded, and says so. What the agent left in its workspace is
// not known, and so nothing that looks at it can be done.
func (a *attempt) checkImported(c *cassette.Cassette) error {
	a.imported = c.Header.Imported()
	if !a.imported {
		return nil
	}
	prompted := false
	for _, s := range a.unit.Steps {
		if prompted && action.Of(s.Uses).Files {
			return fmt.Errorf("%s: the step %s runs after the agent, and %s was %s: what the agent left is not known",
				s.Position, stepName(s), c.Path, c.Header.Origin)
		}
		prompted = prompted || s.Prompts()
	}
	a.result.Warnings = append(a.result.Warnings, fmt.Sprintf("%s was %s: whether it is stale is known of its prompts alone", c.Path, c.Header.Origin))
	return nil
}

// oldError says that a recording is older than the playbook allows.
type oldError struct {
	path     string
	recorded time.Time
	days     int // that it is old
	limit    string
}

func (e *oldError) Error() string {
	return fmt.Sprintf("the cassette %s is %d days old, it was recorded on %s: %s", e.path, e.days, e.recorded.Format(time.DateOnly), e.limit)
}

// checkAge refuses a recording that is older than the playbook allows, or warns of it.
func (a *attempt) checkAge(c *cassette.Cassette) error {
	const day = 24 * time.Hour
	limit, age := a.pb.Cassette.MaxAge, a.now().Sub(c.Header.RecordedAt)
	over := func(d playbook.Days) bool { return d > 0 && age > time.Duration(d)*day }
	err := &oldError{path: c.Path, recorded: c.Header.RecordedAt, days: int(age / day)}
	switch {
	case over(limit.Fail):
		err.limit = fmt.Sprintf("cassette.max_age.fail is %dd", limit.Fail)
		if a.cfg.Stale != StaleWarns {
			return err
		}
	case over(limit.Warn):
		err.limit = fmt.Sprintf("cassette.max_age.warn is %dd", limit.Warn)
	default:
		return nil
	}
	a.result.Warnings = append(a.result.Warnings, err.Error())
	return nil
}

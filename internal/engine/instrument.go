package engine

import (
	"fmt"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// SuspectError says that a run ended early since nothing was used that should have been: neither the skill nor the
// agent needs to be the reason, but may as well be how both are measured.
type SuspectError struct {
	// Trials are those of the first Cases in which something should have been used. NotRun is how many units were not
	// run.
	Cases, Trials, NotRun int
}

func (e *SuspectError) Error() string {
	return fmt.Sprintf("the instrument is suspect: in none of the first %d cases in which a skill or a tool should be "+
		"used was it, in %d trials. Is it installed where the agent looks, and does the agent list it? %d units were "+
		"not run", e.Cases, e.Trials, e.NotRun)
}

// instrument watches whether anything is used at all. The zero value, for 0 cases, never doubts.
type instrument struct {
	cases int // that are looked at

	mu      sync.Mutex
	ended   map[string]result.Unit // by id
	suspect *SuspectError          // nil: more units may start
}

// note takes a unit that has ended.
func (i *instrument) note(u result.Unit) {
	if i.cases == 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.ended == nil {
		i.ended = make(map[string]result.Unit)
	}
	i.ended[u.ID] = u
}

// refuses reports whether another of the units must not start, and counts it then.
func (i *instrument) refuses(units []plan.Unit) bool {
	if i.cases == 0 {
		return false
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.suspect == nil {
		i.suspect = i.look(units)
	}
	if i.suspect != nil {
		i.suspect.NotRun++
	}
	return i.suspect != nil
}

// look returns an error if all trials of the first cases in which something should be used have ended, and it was used
// in none of them. The lock is held.
func (i *instrument) look(units []plan.Unit) *SuspectError {
	var e SuspectError
	last := "" // the case that was counted last
	for n, u := range units {
		res, ended := i.ended[u.ID()]
		if !ended {
			return nil
		}
		wanted := false
		for _, a := range res.Activations() {
			if wanted = wanted || a.Wanted; a.Wanted && a.Fired != nil && *a.Fired {
				return nil
			}
		}
		if !wanted {
			continue
		}
		if e.Trials++; u.Case.ID != last {
			e.Cases, last = e.Cases+1, u.Case.ID
		}
		if e.Cases == i.cases && (n+1 == len(units) || units[n+1].Case.ID != last) {
			return &e
		}
	}
	return nil
}

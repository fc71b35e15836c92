package queue

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// Money is what is known of a run's budget.
type Money struct {
	SpentUSD float64 `json:"spent_usd"`
	// Reserved is what running units may cost, by the names of their attempts.
	Reserved map[string]float64 `json:"reserved"`
	// Dearest is the most that a unit of each variant has cost, and All that of any variant.
	Dearest map[string]float64 `json:"dearest"`
	All     float64            `json:"all"`
}

// room is what a budget has for a unit.
type room int

const (
	enough room = iota
	later       // when running units have ended
	never
)

// inexact is what sums of floating-point numbers may be off by.
const inexact = 1e-9

// reserve reserves what a unit may cost, by the rule of `sdd-eval run`: the playbook's bound, else the most that one of
// its variant has cost, else what is assumed, else the most that any has cost; the first one, of which nobody knows,
// has all that is left. What former attempts at the unit have reserved is settled with it. If nothing will ever be
// enough, that ends the run.
func (q *Queue) reserve(ctx context.Context, run Run, unit Unit, o *Offer, attempt int) (room, error) {
	if run.MaxUSD == 0 || !unit.Costs {
		return enough, nil
	}
	var verdict room
	var spent, need float64
	err := q.account(ctx, run.ID, func(m *Money) bool {
		settled := m.settleLeft(o)
		left := run.MaxUSD - m.SpentUSD
		for _, usd := range m.Reserved {
			left -= usd
		}
		var known bool
		need, known = m.need(run, unit)
		alone := len(m.Reserved) == 0
		spent = m.SpentUSD
		switch {
		case known && need <= left+inexact:
		case !known && alone && left > inexact:
			need = left
		case alone:
			verdict = never
			return settled
		default:
			verdict = later
			return settled
		}
		verdict = enough
		m.Reserved[o.reservation(attempt)] = need
		return true
	})
	if err == nil && verdict == never {
		may := "nobody knows what " + unit.ID + " costs"
		if need > 0 {
			may = fmt.Sprintf("%s may cost $%.2f", unit.ID, need)
		}
		err = q.End(ctx, run.ID, End{Kind: OverBudget, Why: fmt.Sprintf(
			"of the run's budget of $%.2f, $%.2f are spent, and %s", run.MaxUSD, spent, may)})
	}
	return verdict, err
}

func (m *Money) need(run Run, unit Unit) (usd float64, known bool) {
	dearest, seen := m.Dearest[unit.Variant]
	switch {
	case run.UnitUSD > 0:
		return run.UnitUSD, true
	case seen:
		return dearest, true
	case run.AssumedUSD != nil:
		return *run.AssumedUSD, true
	}
	return m.All, m.All > 0
}

// settle counts what an attempt cost in the place of what it had reserved, once: one that has nothing reserved was
// counted before. Usd is nil if nobody knows what it cost: then what is assumed counts, else all that was reserved. If
// it is telling, another unit may cost as much.
func (q *Queue) settle(ctx context.Context, run Run, unit Unit, name string, usd *float64, telling bool) error {
	if run.MaxUSD == 0 || !unit.Costs {
		return nil
	}
	return q.account(ctx, run.ID, func(m *Money) bool {
		reserved, ok := m.Reserved[name]
		if !ok {
			return false
		}
		delete(m.Reserved, name)
		if usd == nil && run.AssumedUSD != nil {
			usd = run.AssumedUSD
		}
		if usd == nil {
			m.SpentUSD += reserved
			return true
		}
		m.SpentUSD += *usd
		if telling {
			m.Dearest[unit.Variant], m.All = max(m.Dearest[unit.Variant], *usd), max(m.All, *usd)
		}
		return true
	})
}

// settleLeft counts all that is still reserved for attempts at a unit: their workers could not count what they cost,
// and nobody knows it.
func (q *Queue) settleLeft(ctx context.Context, run Run, unit Unit, o *Offer) error {
	if run.MaxUSD == 0 || !unit.Costs {
		return nil
	}
	return q.account(ctx, run.ID, func(m *Money) bool { return m.settleLeft(o) })
}

func (m *Money) settleLeft(o *Offer) (changed bool) {
	for name, usd := range m.Reserved {
		if strings.HasPrefix(name, o.reservation("")) {
			delete(m.Reserved, name)
			m.SpentUSD += usd
			changed = true
		}
	}
	return changed
}

// account changes a run's money by compare-and-set; change returns false if nothing is to be written.
func (q *Queue) account(ctx context.Context, run string, change func(*Money) bool) error {
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		m, revision, err := q.money(ctx, run)
		if err != nil {
			return fmt.Errorf("the run's budget: %w", err)
		}
		if !change(&m) {
			return nil
		}
		if _, err = put(ctx, q.budget, run, m, revision); !errors.Is(err, errMoved) {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(rand.N(wait) + wait/2):
		}
	}
}

func (q *Queue) money(ctx context.Context, run string) (Money, uint64, error) {
	m := Money{Reserved: map[string]float64{}, Dearest: map[string]float64{}}
	revision, err := get(ctx, q.budget, run, &m)
	return m, revision, err
}

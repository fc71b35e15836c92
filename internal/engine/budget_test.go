package engine

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// costing returns a unit that passed and cost so much, nothing known if that is negative.
func costing(variant string, trial int, usd float64) result.Unit {
	u := result.Unit{
		ID: fmt.Sprintf("p/c/%s/%d", variant, trial), Variant: variant, Outcome: result.Pass,
		Metrics: &result.Metrics{Iterations: 1},
	}
	if usd >= 0 {
		u.Metrics.Cost = &trajectory.Cost{Amount: usd, Currency: "USD"}
	}
	return u
}

func planned(variant string, trial int) plan.Unit {
	return plan.Unit{
		Playbook: "p", Case: plan.Case{ID: "c"}, Variant: plan.Variant{ID: variant}, Trial: trial,
	}
}

// TestReserve: what a unit may cost, and how many may run at a time for it. Each step starts a unit, which may have a
// limit of its own, or ends one.
func TestReserve(t *testing.T) {
	type step struct {
		start string  // a variant
		limit float64 // of the unit
		end   string  // a variant, whose first unit that runs ends
		cost  float64 // of that; negative: it does not say
		// then is what comes of all that was started: "r" runs, "w" waits, "x" was refused.
		then string
	}
	zero, half := 0., .5
	for name, tt := range map[string]struct {
		budget float64
		assume *float64
		past   []result.Unit
		steps  []step
	}{
		"the first runs alone, and the others learn from it": {budget: 1, steps: []step{
			{start: "a", then: "r"},
			{start: "a", then: "rw"},
			{end: "a", cost: .4, then: " r"},
			{start: "b", then: " rw"}, // .4 + .4 + .4
			{end: "a", cost: .1, then: "  r"},
			{end: "b", cost: .6, then: "   "},
			{start: "a", then: "   x"},
		}},
		"a limit of its own": {budget: 1, steps: []step{
			{start: "a", limit: .5, then: "r"},
			{start: "a", limit: .5, then: "rr"},
			{start: "a", limit: .5, then: "rrw"},
			{end: "a", cost: .3, then: " rw"},
			{end: "a", cost: .1, then: "  r"},
		}},
		"former runs, the dearest": {
			budget: 1, past: []result.Unit{costing("a", 1, .2), costing("a", 2, .5), costing("b", 1, .1)},
			steps: []step{
				{start: "a", then: "r"},
				{start: "a", then: "rr"},
				{start: "b", then: "rrw"},
				{end: "a", cost: .1, then: " rr"},
			},
		},
		"an unknown cost ends it": {budget: 10, steps: []step{
			{start: "a", limit: 1, then: "r"},
			{start: "a", limit: 1, then: "rr"},
			{end: "a", cost: -1, then: " r"},
			{start: "a", limit: 1, then: " rx"},
		}},
		"a cost is assumed": {budget: 1, assume: &half, steps: []step{
			{start: "a", then: "r"},
			{start: "a", then: "rr"},
			{start: "a", then: "rrw"},
			{end: "a", cost: -1, then: " rw"},
			{end: "a", cost: -1, then: "  x"},
		}},
		"free": {budget: .01, assume: &zero, steps: []step{
			{start: "a", then: "r"}, {start: "a", then: "rr"}, {end: "a", cost: -1, then: " r"},
		}},
		"more than all": {
			budget: .1, past: []result.Unit{costing("a", 1, .2)}, steps: []step{{start: "a", then: "x"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				b := newBudget(Budget{
					MaxUSD: tt.budget, AssumedUSD: tt.assume, Past: func() []result.Unit { return tt.past },
				})
				var variants []string
				var states []byte
				for i, s := range tt.steps {
					if s.start != "" {
						n := len(states)
						variants, states = append(variants, s.start), append(states, 'w')
						go func() {
							state := byte('x')
							if b.reserve(ctx, planned(s.start, n), s.limit) {
								state = 'r'
							}
							states[n] = state
						}()
					} else {
						for n, state := range states {
							if state == 'r' && variants[n] == s.end {
								states[n] = ' '
								b.settle(costing(s.end, n, s.cost))
								break
							}
						}
					}
					synctest.Wait()
					require.Equal(t, s.then, string(states), "step %d", i+1)
					reserved := 0.
					for _, usd := range b.reserved {
						reserved += usd
					}
					if b.stopped == nil && reserved > 0 {
						require.LessOrEqual(t, b.spent+reserved, tt.budget+inexact)
					}
				}
				cancel()
				synctest.Wait()
				assert.NotContains(t, string(states), "w", "who waits ends with the context")
			})
		})
	}
}

// TestBudgetCounts: attempts that are repeated count, and what nobody was asked is free.
func TestBudgetCounts(t *testing.T) {
	b := newBudget(Budget{MaxUSD: 1})
	require.True(t, b.reserve(t.Context(), planned("a", 1), .4))
	failed := costing("a", 1, .3)
	failed.Outcome = result.Error
	require.NoError(t, b.again(failed))
	require.NoError(t, b.again(failed))
	require.ErrorContains(t, b.again(failed), "not tried again: the run's budget of $1.00 has no room for it")
	b.settle(failed)
	assert.InDelta(t, .9, b.state().SpentUSD, 1e-9)

	replayed := costing("a", 2, 5)
	replayed.Replayed = true
	silent := costing("a", 3, -1)
	silent.Metrics.Iterations = 0
	b.settle(replayed)
	b.settle(silent)
	b.settle(result.Unit{ID: "p/c/a/4", Outcome: result.Skip})
	assert.InDelta(t, .9, b.state().SpentUSD, 1e-9)
	assert.Nil(t, b.stopped)

	crashed := costing("b", 5, -1)
	crashed.Outcome = result.Error
	b.settle(costing("b", 6, .2))
	assert.Empty(t, b.settle(crashed), "it counts as the dearest of its variant")
	assert.InDelta(t, 1.3, b.state().SpentUSD, 1e-9)
	assert.Nil(t, b.stopped)

	euros := costing("a", 5, 1)
	euros.Metrics.Cost.Currency = "EUR"
	assert.Len(t, b.settle(euros), 1)
	assert.True(t, b.stopped.Unknown)
	require.ErrorContains(t, b.end(2), "the agent of p/c/a/5 does not say what it cost in USD")
}

// TestPaid: all attempts at a unit count, also without a budget, and one whose cost nobody knows makes the sum unknown.
func TestPaid(t *testing.T) {
	r := new(Runner)
	usd, asked := r.Paid()
	assert.Zero(t, *usd)
	assert.False(t, asked)
	r.bill.add(paid(costing("a", 1, 3)))
	r.bill.add(paid(costing("a", 1, .5)))
	r.bill.add(paid(result.Unit{Outcome: result.Error, Reason: "the unit was not run: rate limit"}))
	usd, asked = r.Paid()
	assert.InDelta(t, 3.5, *usd, 1e-9)
	assert.True(t, asked)
	euros := costing("a", 1, 1)
	euros.Metrics.Cost.Currency = "EUR"
	r.bill.add(paid(euros))
	usd, _ = r.Paid()
	assert.Nil(t, usd)
}

// TestBudgetCountsJudges: agents that judge count with the unit, also of a session that is replayed.
func TestBudgetCountsJudges(t *testing.T) {
	b := newBudget(Budget{MaxUSD: 2})
	judged := func(trial int, usd *float64) result.Unit {
		u := costing("a", trial, .5)
		u.Judging = &result.Judging{Turns: 1, CostUSD: usd}
		return u
	}
	b.settle(judged(1, new(.25)))
	need, known := b.need(planned("a", 2), 0)
	assert.True(t, known)
	assert.InDelta(t, .75, need, 1e-9)
	replayed := judged(2, new(.25))
	replayed.Replayed = true
	b.settle(replayed)
	assert.InDelta(t, 1, b.state().SpentUSD, 1e-9)
	assert.Nil(t, b.stopped)
	b.settle(judged(3, nil))
	assert.True(t, b.stopped.Unknown)
}

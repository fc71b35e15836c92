package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// Budget is what a run may cost. The zero value sets no bound.
type Budget struct {
	// MaxUSD bounds the run with all its units, in US dollars; 0: nothing does.
	MaxUSD float64
	// AssumedUSD is what a unit counts whose agent does not say what it cost; nil: such a unit ends the run.
	AssumedUSD *float64
	// Past returns units of former runs, of which others learn what they may cost; nil: there are none.
	Past func() []result.Unit
}

// BudgetError says that a run ended early because of its budget.
type BudgetError struct {
	// MaxUSD is the budget, and SpentUSD what of it was spent.
	MaxUSD, SpentUSD float64
	// Unit is the first unit that was not run, and NeedUSD what it may cost, 0 if nobody knows. If Unknown, Unit is the
	// one of which nobody knows what it did cost.
	Unit    string
	NeedUSD float64
	Unknown bool
	// NotRun is how many units were not run.
	NotRun int
}

func (e *BudgetError) Error() string {
	left := fmt.Sprintf("%d units were not run", e.NotRun)
	if e.NotRun == 1 {
		left = "1 unit was not run"
	}
	if e.Unknown {
		return fmt.Sprintf("the agent of %s does not say what it cost in USD, so that the run's budget of $%.2f, of "+
			"which $%.2f are known to be spent, cannot be kept: %s", e.Unit, e.MaxUSD, e.SpentUSD, left)
	}
	may := "nobody knows what " + e.Unit + " costs"
	if e.NeedUSD > 0 {
		may = fmt.Sprintf("%s may cost $%.2f", e.Unit, e.NeedUSD)
	}
	return fmt.Sprintf("of the run's budget of $%.2f, $%.2f are spent, and %s: %s", e.MaxUSD, e.SpentUSD, may, left)
}

// Enough returns a budget for the whole run, if the units that were not run cost what the first of them may cost; 0: no
// budget is enough, since nobody knows what a unit did cost.
func (e *BudgetError) Enough() float64 {
	if e.Unknown {
		return 0
	}
	return math.Ceil(100*(e.SpentUSD+float64(e.NotRun)*cmp.Or(e.NeedUSD, e.MaxUSD))-inexact) / 100
}

// inexact is what sums of floating-point numbers may be off by, in dollars or in cents.
const inexact = 1e-9

// budget keeps a run within its budget: units reserve what they may cost before they start, in listed order, and settle
// what they cost when they have ended. What is settled, or tried again, in a run without a budget works on nil.
type budget struct {
	Budget

	mu       sync.Mutex
	moved    *sync.Cond
	spent    float64
	reserved map[string]float64 // by the ids of units that have started
	// dearest is the most that a unit of each variant has cost, in former runs and in this one, and all that of any
	// variant in this run; 0: none has ended.
	dearest map[string]float64
	all     float64
	stopped *BudgetError // nil: more units may start
}

func newBudget(of Budget) *budget {
	if of.MaxUSD == 0 {
		return nil
	}
	b := &budget{Budget: of, reserved: make(map[string]float64), dearest: make(map[string]float64)}
	b.moved = sync.NewCond(&b.mu)
	if of.Past != nil {
		for _, u := range of.Past() {
			if cost, known, asked := paid(u); known && asked && u.Telling() {
				b.dearest[u.Variant] = max(b.dearest[u.Variant], cost)
			}
		}
	}
	return b
}

// paid returns what a unit cost in US dollars with the agents that judged it, whether that is known, and whether an
// agent was asked anything: one that was not is free.
func paid(u result.Unit) (usd float64, known, asked bool) {
	usd, known, asked = paidWork(u)
	if j := u.Judging; j != nil {
		known, asked = known && j.CostUSD != nil, true
		if known {
			usd += *j.CostUSD
		}
	}
	return usd, known, asked
}

// paidWork is paid without the agents that judged.
func paidWork(u result.Unit) (usd float64, known, asked bool) {
	m := u.Metrics
	switch {
	case u.Replayed, m == nil, m.Iterations == 0:
		return 0, true, false
	case m.Cost == nil, m.Cost.Currency != "USD", !(m.Cost.Amount >= 0), math.IsInf(m.Cost.Amount, 1):
		return 0, false, true
	}
	return m.Cost.Amount, true, true
}

// bill is what attempts at units cost.
type bill struct {
	mu             sync.Mutex
	usd            float64
	unknown, asked bool
}

func (b *bill) add(usd float64, known, asked bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.usd, b.unknown, b.asked = b.usd+usd, b.unknown || !known, b.asked || asked
}

// Paid returns what all attempts at units cost in US dollars, nil if nobody knows, and whether an agent was asked
// anything. What was paid for units that were judged anew is not in it.
func (r *Runner) Paid() (usd *float64, asked bool) {
	r.bill.mu.Lock()
	defer r.bill.mu.Unlock()
	if r.bill.unknown {
		return nil, true
	}
	return new(r.bill.usd), r.bill.asked
}

// reserve waits until the budget has room for a unit, whose own limit is most, 0 if it has none. It returns false if
// there will be none, or ctx has ended.
func (b *budget) reserve(ctx context.Context, u plan.Unit, most float64) bool {
	defer context.AfterFunc(ctx, b.wake)()
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		if b.stopped != nil || ctx.Err() != nil {
			return false
		}
		need, known := b.need(u, most)
		left := b.MaxUSD - b.spent
		for _, usd := range b.reserved {
			left -= usd
		}
		alone := len(b.reserved) == 0
		switch {
		case known && need <= left+inexact:
			b.reserved[u.ID()] = need
			return true
		case !known && alone && left > inexact: // then it has all of it, and the others learn from it
			b.reserved[u.ID()] = left
			return true
		case alone:
			b.stopped = &BudgetError{MaxUSD: b.MaxUSD, SpentUSD: b.spent, Unit: u.ID(), NeedUSD: need}
			return false
		}
		b.moved.Wait()
	}
}

// need returns what a unit may cost: its own limit, else the most that one of its variant cost, else what is assumed of
// a unit that does not say, else the most that any unit of the run cost. The lock is held.
func (b *budget) need(u plan.Unit, most float64) (usd float64, known bool) {
	dearest, seen := b.dearest[u.Variant.ID]
	switch {
	case most > 0:
		return most, true
	case seen:
		return dearest, true
	case b.AssumedUSD != nil:
		return *b.AssumedUSD, true
	}
	return b.all, b.all > 0
}

// cost returns what a unit counts; the lock is held. One that ended in error may have had no time to say what it cost:
// it counts the most that one of its variant did.
func (b *budget) cost(u result.Unit) (usd float64, known, asked bool) {
	usd, known, asked = paid(u)
	if !known && u.Outcome == result.Error {
		usd, known = b.dearest[u.Variant]
	}
	if !known && b.AssumedUSD != nil {
		return *b.AssumedUSD, true, asked
	}
	return usd, known, asked
}

// settle counts what a unit cost that has ended. It returns a warning if nobody knows what: the last unit that runs
// stops none.
func (b *budget) settle(u result.Unit) (warnings []string) {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.reserved, u.ID)
	usd, known, asked := b.cost(u)
	switch {
	case !known:
		b.ask(u)
		warnings = []string{fmt.Sprintf("the agent does not say what it cost in USD, so that it is not counted in the "+
			"run's budget of $%.2f: --assume-cost counts it", b.MaxUSD)}
	case asked && u.Telling():
		b.dearest[u.Variant], b.all = max(b.dearest[u.Variant], usd), max(b.all, usd)
	}
	b.spent += usd
	b.moved.Broadcast()
	return warnings
}

// ask ends the run because of a unit of unknown cost. The lock is held.
func (b *budget) ask(u result.Unit) {
	if b.stopped == nil {
		b.stopped = &BudgetError{MaxUSD: b.MaxUSD, Unit: u.ID, Unknown: true}
	}
}

// again counts an attempt at a unit, and returns an error if there is no room for another one, which may cost as much
// as was reserved.
func (b *budget) again(u result.Unit) error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	usd, known, _ := b.cost(u)
	if !known {
		b.ask(u)
		return errors.New("not tried again: it does not say what it cost, and the run has a budget")
	}
	left := b.MaxUSD - b.spent - usd
	for _, reserved := range b.reserved {
		left -= reserved
	}
	if left < -inexact {
		return fmt.Errorf("not tried again: the run's budget of $%.2f has no room for it", b.MaxUSD)
	}
	b.spent += usd
	return nil
}

func (b *budget) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.moved.Broadcast()
}

// end returns why so many units were not run.
func (b *budget) end(notRun int) *BudgetError {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stopped.SpentUSD, b.stopped.NotRun = b.spent, notRun
	return b.stopped
}

// state returns what the manifest says of the budget.
func (b *budget) state() *rundir.Budget {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return &rundir.Budget{MaxUSD: b.MaxUSD, AssumedUSD: b.AssumedUSD, SpentUSD: b.spent}
}

// Budget returns what the run may cost: the lower of the user's word and the playbook's, or, of a run that is resumed,
// the user's word, else what it was. One of several shards has its share of that. A run that starts no agent has none.
func (r *Runner) Budget() Budget {
	of := r.wholeBudget()
	if r.part != nil {
		of.MaxUSD *= r.part.share
	}
	return of
}

// wholeBudget returns what the run may cost with all its shards.
func (r *Runner) wholeBudget() Budget {
	of, most := r.cfg.Budget, r.pb.Limits.Run.MaxCostUSD
	if k := r.cfg.Keep; k != nil && k.Resumed != nil && k.Resumed.Manifest().Budget != nil {
		was := k.Resumed.Manifest().Budget
		of.MaxUSD = cmp.Or(of.MaxUSD, was.MaxUSD)
		of.AssumedUSD = cmp.Or(of.AssumedUSD, was.AssumedUSD)
	} else if most > 0 && (of.MaxUSD == 0 || most < of.MaxUSD) {
		of.MaxUSD = most
	}
	costs := func(u plan.Unit) bool { return r.InShard(u) && r.costs(u) }
	if (of.MaxUSD > 0 || of.AssumedUSD != nil) && !slices.ContainsFunc(r.plan.Units, costs) {
		return Budget{}
	}
	return of
}

// Spent returns what of the budget was spent, in US dollars.
func (r *Runner) Spent() float64 {
	if s := r.budget.state(); s != nil {
		return s.SpentUSD
	}
	return 0
}

// overBudget returns the error of a run whose budget left no room for units.
func (r *run) overBudget(notRun []plan.Unit) error {
	err := r.budget.end(len(notRun))
	next := "let the agent say what it costs, or take limits.run.max_cost_usd out of " + r.pb.File
	if !err.Unknown {
		enough := err.Enough()
		if r.part != nil && r.part.share > 0 {
			enough /= r.part.share
		}
		next = fmt.Sprintf("raise limits.run.max_cost_usd in %s, to %.2f for example, then: %s", r.pb.File,
			enough, r.cfg.Command(r.cfg.Mode, notRun[0]))
	}
	return fault.Advise(err, next)
}

// checkBudget returns an error for a cost that is assumed for nothing.
func (r *Runner) checkBudget() error {
	if b := r.Budget(); b.AssumedUSD != nil && b.MaxUSD == 0 {
		return fmt.Errorf("a cost is assumed of units that do not say theirs, and the run has no budget: give it one "+
			"with --budget-usd or with limits.run.max_cost_usd in %s", r.pb.File)
	}
	return nil
}

// openBudget makes the budget, of which units that ended before have spent some.
func (r *run) openBudget() error {
	if r.budget = newBudget(r.Budget()); r.budget == nil {
		return nil
	}
	var before float64
	resumed := r.cfg.Keep != nil && r.cfg.Keep.Resumed != nil
	if resumed {
		if was := r.kept.Manifest().Budget; was != nil {
			before = was.SpentUSD
		}
	}
	for _, u := range r.units {
		r.budget.settle(u)
	}
	r.budget.spent = max(r.budget.spent, before)
	if resumed {
		return r.kept.Spend(*r.budget.state(), "")
	}
	return nil
}

// costs reports whether a unit starts an agent, to work or to judge, which may cost something.
func (r *Runner) costs(u plan.Unit) bool {
	works := r.former == nil && slices.ContainsFunc(u.Steps, plan.Step.Prompts) && r.roleOf(u).runsAgent()
	return works || r.asksAgents(u)
}

package trajectory

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// Matcher is an expectation of a run. Functions such as [Superset] and [InOrder] return one, and [All] combines
// several. It has no state and may be used for many runs at the same time.
type Matcher struct {
	parts []part
	err   error
}

// part is one of the expectations that a matcher is made of.
type part interface {
	// check returns an error if the expectation is malformed.
	check() error
	// judge compares it with the calls of a run.
	judge(s *session) section
}

func matcherOf(p part) Matcher { return Matcher{parts: []part{p}, err: p.check()} }

// Group is a list of expected calls that are made together. See [ToolCall.Group].
type Group []Call

// Strict expects these groups of calls in this order and no others, each with as many calls as here, in any order.
// Strict() expects that no tool was called. Its score is that of [Exact].
func Strict(groups ...Group) Matcher {
	var calls []Call
	var of []int
	for g, group := range groups {
		calls = append(calls, group...)
		of = append(of, slices.Repeat([]int{g}, len(group))...)
	}
	s := newSequence(strict, calls)
	s.groups = of
	if slices.ContainsFunc(groups, func(g Group) bool { return len(g) == 0 }) {
		s.err = errors.Join(s.err, errors.New("strict: a group needs at least one call"))
	}
	return matcherOf(s)
}

// Exact expects these calls in this order and no others; Exact() expects that no tool was called. Its score is
// matched calls by expected or actual calls, whichever are more, in the alignment that matches most.
func Exact(calls ...Call) Matcher { return matcherOf(newSequence(exact, calls)) }

// InOrder expects these calls in this order; there may be others in between. Its score is matched by expected calls, in
// the alignment that matches most, so that one missing call does not spoil the rest. It needs at least one call.
func InOrder(calls ...Call) Matcher { return matcherOf(newSequence(inOrder, calls)) }

// Unordered expects these calls and no others, in any order. Its score is that of [Exact], in the pairing that
// matches most.
func Unordered(calls ...Call) Matcher { return matcherOf(newSequence(unordered, calls)) }

// Superset expects at least these calls, in any order, each matched by a different call. Its score is matched by
// expected calls, in the pairing that matches most, which does not depend on the order in which they are written. It
// needs at least one call.
func Superset(calls ...Call) Matcher { return matcherOf(newSequence(superset, calls)) }

// Subset expects no calls but these, each at most once. It holds for a run in which nothing happened. Its score is
// matched by actual calls, in the pairing that matches most.
func Subset(calls ...Call) Matcher { return matcherOf(newSequence(subset, calls)) }

// All expects what each of the matchers expects. Its score counts all their expectations together.
func All(matchers ...Matcher) Matcher {
	var all Matcher
	for _, m := range matchers {
		all.parts = append(all.parts, m.parts...)
		all.err = errors.Join(all.err, m.Check())
	}
	return all
}

// Check returns an error if the expectation is malformed. Matching returns it, too, in [Result.Err].
func (m Matcher) Check() error {
	if len(m.parts) == 0 && m.err == nil {
		return errors.New("the Matcher expects nothing: use a function such as Superset")
	}
	return m.err
}

// Match compares the run with the expectation.
func (m Matcher) Match(run *Run) (r Result) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case fault:
			r = Result{Err: p.error}
		default:
			panic(p)
		}
	}()
	if err := m.Check(); err != nil {
		return Result{Err: err}
	}
	if run == nil {
		return Result{Err: errors.New("no run to match")}
	}
	s, err := newSession(run)
	if err != nil {
		return Result{Err: err}
	}
	for _, p := range m.parts {
		r.add(p.judge(s))
	}
	return r
}

// Result is the result of matching a run: pass, fail, or an error in Err.
type Result struct {
	// Pass is true if all expectations held, which is when Score is 1.
	Pass bool
	// Score is Held divided by Total, 1 if nothing was expected and nothing was wrong. It is meaningless if Err is set.
	Score float64
	// Held of Total expectations held: each expected call is one, and so is each limit and each tool of Never. For
	// Exact, if there are more actual calls than expected ones, the excess adds to Total.
	Held, Total int
	// Matched is how many expected calls were matched by an actual call; Expected and Actual are how many there were of
	// each. Several lists of expected calls are added up; without any, all are 0.
	Matched, Expected, Actual int
	// Pairs has for each expected call the index of its actual call in [Run.ToolCalls], or -1. Several lists of
	// expected calls follow one another.
	Pairs []int
	// Err is set if matching was not possible: the expectation is malformed, or arguments of the run are not JSON.
	Err error

	sections []section
}

// section is the result of one part of a matcher.
type section struct {
	name        string // as in YAML, e.g. "in_order"
	held, total int
	// Of lists of expected calls only.
	matched, expected, actual int
	pairs                     []int
	// problems has one line for each expectation that did not hold.
	problems []string
	// rows explains each expectation. It is costly and called only to show the result.
	rows func() []row
}

func (r *Result) add(s section) {
	r.sections = append(r.sections, s)
	r.Held += s.held
	r.Total += s.total
	r.Matched += s.matched
	r.Expected += s.expected
	r.Actual += s.actual
	r.Pairs = append(r.Pairs, s.pairs...)
	r.Pass = r.Held == r.Total
	r.Score = share(r.Held, r.Total)
}

// share returns part by whole, 1 if both are 0.
func share(part, whole int) float64 {
	if whole == 0 {
		return 1
	}
	return float64(part) / float64(whole)
}

// Precision is the share of the actual calls that were expected, 1 if there were none.
func (r Result) Precision() float64 { return share(r.Matched, r.Actual) }

// Recall is the share of the expected calls that were made, 1 if none was expected.
func (r Result) Recall() float64 { return share(r.Matched, r.Expected) }

// F1 is the harmonic mean of precision and recall.
func (r Result) F1() float64 { return share(2*r.Matched, r.Expected+r.Actual) }

// Reason returns in one line what did not hold, e.g. "in_order: step 2 not matched: issue_refund amount=40"; it is
// empty if the result passed.
func (r Result) Reason() string {
	if r.Err != nil {
		return "error: " + strings.ReplaceAll(r.Err.Error(), "\n", "; ")
	}
	var reasons []string
	for _, s := range r.sections {
		if len(s.problems) == 0 {
			continue
		}
		reason := s.name + ": " + excerpt.Head(s.problems[0], maxReason)
		if more := len(s.problems) - 1; more > 0 {
			reason += fmt.Sprintf(" (and %d more)", more)
		}
		reasons = append(reasons, reason)
	}
	return strings.Join(reasons, "; ")
}

// Flaw is an actual call that broke an expectation, or that came nearest to one that no call met.
type Flaw struct {
	// Call is the index in [Run.ToolCalls].
	Call int
	// Want says in one line what the call should have been, e.g. "step 2: want amount=40".
	Want string
}

// Flaws returns the calls that the table marks, in its order; a call may have several. Expectations to which no call
// came near have none.
func (r Result) Flaws() []Flaw {
	var flaws []Flaw
	for _, s := range r.sections {
		for _, row := range s.rows() {
			if row.call == 0 {
				continue
			}
			want := row.right
			if row.step > 0 {
				want = fmt.Sprintf("step %d: %s", row.step, want)
			}
			flaws = append(flaws, Flaw{Call: row.call - 1, Want: want})
		}
	}
	return flaws
}

// Format is how the text of a result is written. The zero value is plain text.
type Format struct {
	// Color marks what held and what did not with terminal control sequences. Set it only if the text goes to a
	// terminal and the user has not set NO_COLOR.
	Color bool
}

// Text returns the reason, if there is one, and the table.
func (f Format) Text(r Result) string {
	reason, rows := r.Reason(), f.Table(r)
	if reason != "" && rows != "" {
		reason += "\n"
	}
	return reason + rows
}

// Table shows each expectation with the call that matched it or came nearest, and what that call should have been, in
// aligned lines without a final newline. Long values and long runs of similar lines are folded. The table of a result
// with Err is empty.
func (f Format) Table(r Result) string {
	if len(r.sections) == 1 {
		return f.table(r.sections[0].rows(), "")
	}
	var blocks []string
	for _, s := range r.sections {
		block := fmt.Sprintf("%s: %d of %d", s.name, s.held, s.total)
		if rows := f.table(s.rows(), "  "); rows != "" {
			block += "\n" + rows
		}
		blocks = append(blocks, block)
	}
	return strings.Join(blocks, "\n")
}

// Table returns the table of the result as plain text: [Format.Table].
func (r Result) Table() string { return Format{}.Table(r) }

// String returns the result as plain text: [Format.Text].
func (r Result) String() string { return Format{}.Text(r) }

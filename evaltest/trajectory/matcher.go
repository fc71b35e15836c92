package trajectory

import (
	"errors"
	"slices"
)

// Matcher is an expectation of a run. Make one with [Superset], [InOrder] or another function, and combine several with
// [All]. It holds no state: it may be used for many runs at the same time.
type Matcher struct {
	parts []part
	err   error
}

// part is one of the expectations that a matcher is made of.
type part interface {
	// check returns why the expectation is malformed.
	check() error
	// judge compares it with the calls of a run.
	judge(s *session) section
}

func matcherOf(p part) Matcher { return Matcher{parts: []part{p}, err: p.check()} }

// Group is expected calls that are made together; see [ToolCall.Group].
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

// AnyOrder expects that each of these tools was called at least as often as it says, whatever the arguments. Each
// tool is one expectation of the score.
func AnyOrder(minimums Counts) Matcher { return matcherOf(newCounts("any_order", minimums, true)) }

// AtLeast is [AnyOrder] as a constraint beside other expectations.
func AtLeast(counts Counts) Matcher { return matcherOf(newCounts("at_least", counts, true)) }

// AtMost expects that each of these tools was called at most as often as it says. Each tool is one expectation of the
// score.
func AtMost(counts Counts) Matcher { return matcherOf(newCounts("at_most", counts, false)) }

// Never expects that none of these tools was called, by the exact [ToolCall.Name]. Each tool is one expectation of the
// score. It holds for a run in which nothing happened: combine it with what should happen.
func Never(tools ...string) Matcher { return matcherOf(never(slices.Clone(tools))) }

// Before expects that each of these tools was called before the next one was first called. Each two neighbours are one
// expectation of the score, which holds if the second was not called: combine it with what should happen.
func Before(tools ...string) Matcher { return matcherOf(before(slices.Clone(tools))) }

// NoDuplicates expects that none of these tools was called twice with the same arguments; each tool is one expectation
// of the score. NoDuplicates() expects it of all tools, as one expectation.
func NoDuplicates(tools ...string) Matcher { return matcherOf(distinct(slices.Clone(tools))) }

// All expects what each of the matchers expects. Its score counts all their expectations together.
func All(matchers ...Matcher) Matcher {
	var all Matcher
	for _, m := range matchers {
		all.parts = append(all.parts, m.parts...)
		all.err = errors.Join(all.err, m.Check())
	}
	return all
}

// Check returns why the expectation is malformed, nil if it is not. Matching reports it too, in [Result.Err].
func (m Matcher) Check() error {
	if len(m.parts) == 0 && m.err == nil {
		return errors.New("a matcher without expectations: use one of the functions that return one")
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

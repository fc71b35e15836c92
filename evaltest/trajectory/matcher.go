package trajectory

import (
	"errors"
	"fmt"
	"slices"
)

// Matcher is an expectation of a run. Make one with [Exact], [InOrder], [Superset] or [Never], and several into one
// with [All]. It holds no state: it may be used for many runs at the same time.
type Matcher struct {
	parts []part
	err   error
}

// part is one of the expectations that a matcher is made of.
type part interface {
	// check returns why the expectation is malformed.
	check() error
	// judge compares it with the calls of a run.
	judge(calls []observed, cwd string) section
}

func matcherOf(p part) Matcher { return Matcher{parts: []part{p}, err: p.check()} }

// Exact expects these calls in this order and no others; Exact() expects that no tool was called. Its score is
// matched calls by expected or actual calls, whichever are more, in the alignment that matches most.
func Exact(calls ...Call) Matcher { return matcherOf(sequence{exact, slices.Clone(calls)}) }

// InOrder expects these calls in this order; others may stand between. Its score is matched by expected calls, in the
// alignment that matches most, so that one missing call does not take the rest with it.
func InOrder(calls ...Call) Matcher { return matcherOf(sequence{inOrder, slices.Clone(calls)}) }

// Superset expects at least these calls, in any order, each of them a call of its own. Its score is matched by
// expected calls, in the pairing that matches most, which does not depend on the order in which they are written.
func Superset(calls ...Call) Matcher { return matcherOf(sequence{superset, slices.Clone(calls)}) }

// Never expects that none of these tools was called, by the exact [ToolCall.Name]. Each tool is one expectation of
// the score. A run in which nothing happened holds: combine it with what should happen.
func Never(tools ...string) Matcher { return matcherOf(never(slices.Clone(tools))) }

// All expects what each of the matchers expects. Its score counts all their expectations together.
func All(matchers ...Matcher) Matcher {
	var all Matcher
	for _, m := range matchers {
		all.parts = append(all.parts, m.parts...)
		all.err = errors.Join(all.err, m.check())
	}
	return all
}

// check returns why the expectation is malformed.
func (m Matcher) check() error {
	if len(m.parts) == 0 && m.err == nil {
		return errors.New("a matcher without expectations: use one of the functions that return one")
	}
	return m.err
}

// Match compares the run with the expectation.
func (m Matcher) Match(run *Run) Result {
	if err := m.check(); err != nil {
		return Result{Err: err}
	}
	if run == nil {
		return Result{Err: errors.New("no run to match")}
	}
	toolCalls := run.ToolCalls()
	calls := make([]observed, len(toolCalls))
	for i, call := range toolCalls {
		var err error
		if calls[i], err = observe(call); err != nil {
			return Result{Err: fmt.Errorf("call %d of the run, %s: %w", i+1, label(call.Name), err)}
		}
	}
	var r Result
	for _, p := range m.parts {
		r.add(p.judge(calls, run.Cwd))
	}
	return r
}

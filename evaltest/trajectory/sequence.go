package trajectory

import (
	"errors"
	"fmt"
	"slices"
)

// mode says how the expected calls of a sequence relate to the actual ones.
type mode string

const (
	strict    mode = "strict"
	exact     mode = "exact"
	inOrder   mode = "in_order"
	unordered mode = "unordered"
	superset  mode = "superset"
	subset    mode = "subset"
)

// ordered reports whether the calls must be in the order of the expected ones.
func (m mode) ordered() bool { return m == strict || m == exact || m == inOrder }

// closed reports whether no other calls may be made.
func (m mode) closed() bool { return m != inOrder && m != superset }

// sequence is a list of expected calls.
type sequence struct {
	mode   mode
	calls  []Call
	groups []int // of each call, ascending; only in strict mode
	err    error
}

func newSequence(m mode, calls []Call) sequence {
	s := sequence{mode: m, calls: make([]Call, len(calls))}
	var errs []error
	if len(calls) == 0 && !m.closed() {
		errs = append(errs, fmt.Errorf("%s: needs at least one call", m))
	}
	for i, c := range calls {
		var err error
		if s.calls[i], err = c.ready(); err != nil {
			errs = append(errs, fmt.Errorf("%s: step %d, %s: %w", m, i+1, c.name(), err))
		}
	}
	s.err = errors.Join(errs...)
	return s
}

func (s sequence) check() error { return s.err }

// pair returns the actual call of each expected one, or none.
func (s sequence) pair(in *session) []int {
	if s.mode.closed() || !slices.ContainsFunc(s.calls, func(c Call) bool { return c.hasDeed() }) {
		return s.pairCalls(in)
	}
	// A command line may do what several expected calls do.
	acts, of := in.acts()
	pairs := s.pairCalls(acts)
	for i, j := range pairs {
		if j != none && of != nil {
			pairs[i] = of[j]
		}
	}
	return pairs
}

// pairCalls pairs each expected call with another actual one.
func (s sequence) pairCalls(in *session) []int {
	switch {
	case s.mode == strict:
		return alignGroups(newFit(s.calls, in), s.groups, in.groups())
	case s.mode.ordered():
		return align(newFit(s.calls, in))
	}
	if pairs, ok := pairSame(s.calls, in); ok {
		return pairs
	}
	return pairUp(newFit(s.calls, in))
}

func (s sequence) judge(in *session) section {
	m := matched{sequence: s, session: in, pairs: s.pair(in)}
	result := section{
		name: string(s.mode), expected: len(s.calls), actual: len(in.calls), pairs: m.pairs, rows: m.rows,
	}
	switch {
	case s.mode == subset:
		result.total = len(in.calls)
	case s.mode.closed():
		result.total = max(len(s.calls), len(in.calls))
	default:
		result.total = len(s.calls)
	}
	matched := make([]bool, len(in.calls))
	for i, j := range m.pairs {
		m.count(&result, i, j)
		if j == none {
			continue
		}
		if matched[j] {
			result.actual++ // one more of those that the call stands for
		}
		matched[j] = true
	}
	if s.mode.closed() {
		for j := range m.unpaired() {
			result.problems = append(result.problems, fmt.Sprintf("call %d not expected: %s", j+1, in.calls[j].name()))
		}
	}
	return result
}

// count adds expected call i, whose partner is j, to the result of the sequence.
func (m matched) count(result *section, i, j int) {
	c := &m.sequence.calls[i]
	if j != none {
		result.held++
		result.matched++
	} else if m.mode != subset {
		result.problems = append(result.problems, fmt.Sprintf("step %d not matched: %v", i+1, c))
	}
	if c.limit == 0 || j == none && m.mode == subset {
		return
	}
	result.total++
	switch {
	case j == none:
	case c.inTime(m.actual(j)):
		result.held++
	default:
		result.problems = append(result.problems,
			fmt.Sprintf("step %d exceeds its limit: %s %s", i+1, c.name(), overrun(c, m.actual(j))))
	}
}

// overrun says how call o exceeds the limit of c.
func overrun(c *Call, o *observed) string {
	if !o.ended() {
		return fmt.Sprintf("never ended, want at most %v", c.limit)
	}
	return fmt.Sprintf("took %v, want at most %v", o.Duration, c.limit)
}

// matched is a sequence whose calls are paired with the calls of a run.
type matched struct {
	sequence
	session *session
	pairs   []int // the actual call of each expected one, or none
}

func (m matched) actual(j int) *observed { return &m.session.calls[j] }

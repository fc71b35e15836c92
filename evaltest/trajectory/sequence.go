package trajectory

import (
	"errors"
	"fmt"
)

// mode says how the expected calls of a sequence relate to the actual ones.
type mode string

const (
	exact    mode = "exact"
	inOrder  mode = "in_order"
	superset mode = "superset"
)

// sequence is a list of expected calls.
type sequence struct {
	mode  mode
	calls []Call
}

func (s sequence) check() error {
	var errs []error
	for i := range s.calls {
		if err := s.calls[i].check(); err != nil {
			errs = append(errs, fmt.Errorf("%s: step %d, %s: %w", s.mode, i+1, s.calls[i].name(), err))
		}
	}
	return errors.Join(errs...)
}

func (s sequence) judge(calls []observed, cwd string) section {
	m := matched{sequence: s, actual: calls, cwd: cwd}
	f := newFit(s.calls, calls, cwd)
	if s.mode == superset {
		m.pairs = pairUp(f)
	} else {
		m.pairs = align(f)
	}
	result := section{name: string(s.mode), total: len(s.calls), rows: m.rows}
	if s.mode == exact {
		result.total = max(len(s.calls), len(calls))
	}
	for i, j := range m.pairs {
		c := &s.calls[i]
		if c.limit > 0 {
			result.total++
		}
		switch {
		case j == none:
			result.problems = append(result.problems, fmt.Sprintf("step %d not matched: %v", i+1, c))
		case c.limit == 0:
			result.held++
		case f.inTime.has(i, j):
			result.held += 2
		default:
			result.held++
			result.problems = append(result.problems,
				fmt.Sprintf("step %d over its limit: %s %s", i+1, c.name(), overrun(c, &calls[j])))
		}
	}
	if s.mode == exact {
		for j := range m.unpaired() {
			result.problems = append(result.problems, fmt.Sprintf("call %d not expected: %s", j+1, m.actual[j].name()))
		}
	}
	return result
}

// overrun says how call o is over the limit of c.
func overrun(c *Call, o *observed) string {
	if !o.ended() {
		return fmt.Sprintf("never ended, want at most %v", c.limit)
	}
	return fmt.Sprintf("took %v, want at most %v", o.Duration, c.limit)
}

// matched is a sequence with the calls of a run, paired.
type matched struct {
	sequence
	actual []observed
	cwd    string
	pairs  []int // for each expected call its actual one, or none
}

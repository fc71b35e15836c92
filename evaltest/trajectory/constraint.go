package trajectory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/toolname"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// AnyOrder expects that each of these tools was called at least as often as minimums says, whatever the arguments. Each
// tool is one expectation of the score.
func AnyOrder(minimums Counts) Matcher { return matcherOf(newCounts("any_order", minimums, true)) }

// AtLeast is [AnyOrder] under the name that YAML has for a constraint added to other expectations.
func AtLeast(counts Counts) Matcher { return matcherOf(newCounts("at_least", counts, true)) }

// AtMost expects that each of these tools was called at most as often as counts says. Each tool is one expectation of
// the score.
func AtMost(counts Counts) Matcher { return matcherOf(newCounts("at_most", counts, false)) }

// Never expects that none of these tools was called, by [ToolCall.Name] as [Tool] compares it. Each tool is one
// expectation of the score. It holds for a run in which nothing happened: combine it with what should happen. Where it
// holds and a call has no name, matching returns an error, as it does for all expectations of this kind.
func Never(tools ...string) Matcher { return NeverCall(byName(tools)...) }

// NeverCall is [Never] for calls: none of these was made, such as Does("delete").
func NeverCall(calls ...Call) Matcher { return matcherOf(never{newUnpaired("never", calls)}) }

// Before expects that each of these tools was called before the first call of the next one. Each pair of neighbours is
// one expectation of the score. It holds if the second was not called: combine it with what should happen.
func Before(tools ...string) Matcher { return BeforeCall(byName(tools)...) }

// BeforeCall is [Before] for calls: each of these was made before the next one was first made. What the commands of one
// line do, they do one after the other.
func BeforeCall(calls ...Call) Matcher { return matcherOf(before{newUnpaired("before", calls)}) }

// NoDuplicates expects that none of these tools was called twice with the same arguments; each tool is one expectation
// of the score. NoDuplicates() expects it of all tools, as one expectation.
func NoDuplicates(tools ...string) Matcher { return matcherOf(distinct(slices.Clone(tools))) }

// MaxDuration expects that the whole run, from its first event to its last, took no longer than d, which must be
// positive. For a single call see [Call.MaxDuration].
func MaxDuration(d time.Duration) Matcher { return matcherOf(within(d)) }

// within is the longest time that a run may take.
type within time.Duration

func (w within) check() error {
	if w <= 0 {
		return fmt.Errorf("max_duration_ms: limit %v must be positive", time.Duration(w))
	}
	return nil
}

func (w within) judge(s *session) section {
	limit := time.Duration(w)
	took := fmt.Sprintf("the run took %v", s.took)
	result := section{name: "max_duration_ms", total: 1, held: 1}
	r := row{mark: good, left: took}
	if s.took > limit {
		result.held = 0
		r = row{mark: bad, left: took, right: fmt.Sprintf("want at most %v", limit)}
		result.problems = []string{fmt.Sprintf("%s, want at most %v", took, limit)}
	}
	result.rows = func() []row { return []row{r} }
	return result
}

// Counts are numbers of calls by the name of the tool, as [Tool] compares it.
type Counts map[string]int

// counts are bounds on how often tools are called.
type counts struct {
	name   string // as in YAML
	bounds Counts
	least  bool // the bounds are minimums
}

func newCounts(name string, bounds Counts, least bool) counts {
	return counts{name: name, bounds: maps.Clone(bounds), least: least}
}

func (c counts) check() error {
	if len(c.bounds) == 0 {
		return fmt.Errorf("%s: needs at least one tool", c.name)
	}
	var errs []error
	for _, tool := range c.tools() {
		switch n := c.bounds[tool]; {
		case toolname.Check(tool) != nil:
			errs = append(errs, fmt.Errorf("%s: %w", c.name, toolname.Check(tool)))
		case n < 0 || n == 0 && c.least:
			never := "pass"
			if c.least {
				never = "fail"
			}
			errs = append(errs, fmt.Errorf("%s: %s: bound %d can never %s", c.name, label(tool), n, never))
		}
	}
	return errors.Join(errs...)
}

func (c counts) tools() []string { return slices.Sorted(maps.Keys(c.bounds)) }

// holds reports whether n calls of the tool are within its bound.
func (c counts) holds(tool string, n int) bool {
	if c.least {
		return n >= c.bounds[tool]
	}
	return n <= c.bounds[tool]
}

func (c counts) judge(s *session) section {
	result := section{name: c.name, total: len(c.bounds), rows: func() []row { return c.rows(s) }}
	for _, tool := range c.tools() {
		n := s.count(tool)
		switch {
		case c.holds(tool, n):
			result.held++
		case c.least:
			result.problems = append(result.problems,
				fmt.Sprintf("%s called %s, want at least %d", label(tool), times(n), c.bounds[tool]))
		default:
			result.problems = append(result.problems,
				fmt.Sprintf("%s called %s, want at most %d", label(tool), times(n), c.bounds[tool]))
		}
	}
	if !c.least && result.held == result.total {
		s.named(c.name, c.tools())
	}
	return result
}

func (c counts) rows(s *session) []row {
	bound := "at most"
	if c.least {
		bound = "at least"
	}
	var rows []row
	for _, tool := range c.tools() {
		n := s.count(tool)
		r := row{mark: good, left: fmt.Sprintf("%s called %s", label(tool), times(n))}
		if !c.holds(tool, n) {
			r.mark, r.right = bad, fmt.Sprintf("want %s %d", bound, c.bounds[tool])
		}
		rows = append(rows, r)
	}
	return rows
}

func times(n int) string {
	if n == 1 {
		return "1 time"
	}
	return fmt.Sprintf("%d times", n)
}

// distinct is a list of tools that must not be called twice with the same arguments. An empty list means all tools.
type distinct []string

func (d distinct) check() error {
	var errs []error
	for _, tool := range d {
		if err := toolname.Check(tool); err != nil {
			errs = append(errs, fmt.Errorf("no_duplicates: %w", err))
		}
	}
	return errors.Join(errs...)
}

// duplicate is a call that repeats an earlier one.
type duplicate struct{ call, first int }

// duplicates returns the duplicate calls of the tool, or of all tools if it is empty, in order.
func duplicates(s *session, tool string) []duplicate {
	var found []duplicate
	seen := make(map[uint64][]int)
	for j := range s.calls {
		o := &s.calls[j]
		if tool != "" && !wildcard.Match(tool, o.Name) {
			continue
		}
		key := o.digest()
		same := slices.IndexFunc(seen[key], func(i int) bool {
			p := &s.calls[i]
			return p.Name == o.Name && jsonvalue.Equal(p.args, o.args) && jsonvalue.Equal(p.whole, o.whole)
		})
		if same == none {
			seen[key] = append(seen[key], j)
		} else {
			found = append(found, duplicate{call: j, first: seen[key][same]})
		}
	}
	return found
}

// each calls f with the duplicates of each of the tools.
func (d distinct) each(s *session, f func(tool string, found []duplicate)) {
	if len(d) == 0 {
		f("", duplicates(s, ""))
	}
	for _, tool := range d {
		f(tool, duplicates(s, tool))
	}
}

func (d distinct) judge(s *session) section {
	result := section{name: "no_duplicates", rows: func() []row { return d.rows(s) }}
	d.each(s, func(_ string, found []duplicate) {
		result.total++
		if len(found) == 0 {
			result.held++
		}
		for _, f := range found {
			result.problems = append(result.problems,
				fmt.Sprintf("call %d repeats call %d: %s", f.call+1, f.first+1, s.calls[f.call].name()))
		}
	})
	if result.held == result.total {
		s.named(result.name, d)
	}
	return result
}

func (d distinct) rows(s *session) []row {
	var rows []row
	d.each(s, func(tool string, found []duplicate) {
		if len(found) == 0 {
			left := "no duplicates"
			if tool != "" {
				left += " of " + label(tool)
			}
			rows = append(rows, row{mark: good, left: left})
		}
		for _, f := range found {
			rows = append(rows, row{
				mark: bad, left: s.calls[f.call].summary(),
				right: fmt.Sprintf("want no duplicate of call %d", f.first+1), call: f.call + 1,
			})
		}
	})
	return rows
}

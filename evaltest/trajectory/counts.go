package trajectory

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Counts are numbers of calls by the exact name of the tool.
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
		case tool == "":
			errs = append(errs, fmt.Errorf("%s: a tool needs a name", c.name))
		case n < 0 || n == 0 && c.least:
			errs = append(errs, fmt.Errorf("%s: %s: a bound of %d holds always or never", c.name, label(tool), n))
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
			result.problems = append(result.problems, fmt.Sprintf("%s called %d of %d", label(tool), n, c.bounds[tool]))
		default:
			result.problems = append(result.problems,
				fmt.Sprintf("%s called %s, at most %d", label(tool), times(n), c.bounds[tool]))
		}
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

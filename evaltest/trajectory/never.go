package trajectory

import (
	"errors"
	"fmt"
	"slices"
)

// never is a list of tools that must not be called.
type never []string

func (n never) check() error {
	if len(n) == 0 {
		return errors.New("never: needs at least one tool")
	}
	if slices.Contains(n, "") {
		return errors.New("never: a tool needs a name")
	}
	return nil
}

func (n never) judge(s *session) section {
	result := section{name: "never", total: len(n)}
	for _, tool := range n {
		first := s.first(tool)
		if first == none {
			result.held++
		} else {
			result.problems = append(result.problems, fmt.Sprintf("%s was called (call %d)", label(tool), first+1))
		}
	}
	result.rows = func() []row { return n.rows(s.calls) }
	return result
}

func (n never) rows(calls []observed) []row {
	var rows []row
	for _, tool := range n {
		before := len(rows)
		for i := range calls {
			if calls[i].Name == tool {
				rows = append(rows, row{mark: bad, left: calls[i].summary(), right: "want never"})
			}
		}
		if len(rows) == before {
			rows = append(rows, row{mark: good, left: "never " + label(tool)})
		}
	}
	return rows
}

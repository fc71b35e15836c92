package trajectory

import (
	"errors"
	"fmt"
	"slices"
)

// before is a list of tools each of which must be called before the next.
type before []string

func (b before) check() error {
	if len(b) < 2 {
		return errors.New("before: needs at least two tools")
	}
	if slices.Contains(b, "") {
		return errors.New("before: a tool needs a name")
	}
	for i, tool := range b {
		if slices.Contains(b[:i], tool) {
			return fmt.Errorf("before: %s twice", label(tool))
		}
	}
	return nil
}

// holds reports whether tool i was called before tool i+1 was, whose first call is at.
func (b before) holds(s *session, i int) (at int, ok bool) {
	at = s.first(b[i+1])
	first := s.first(b[i])
	return at, at == none || first != none && first < at
}

func (b before) judge(s *session) section {
	result := section{name: "before", total: len(b) - 1, rows: func() []row { return b.rows(s) }}
	for i := range result.total {
		at, ok := b.holds(s, i)
		if ok {
			result.held++
			continue
		}
		problem := fmt.Sprintf("%s was called (call %d) before %s", label(b[i+1]), at+1, label(b[i]))
		if s.first(b[i]) == none {
			problem = fmt.Sprintf("%s was called (call %d) without %s", label(b[i+1]), at+1, label(b[i]))
		}
		result.problems = append(result.problems, problem)
	}
	return result
}

func (b before) rows(s *session) []row {
	var rows []row
	for i := range len(b) - 1 {
		at, ok := b.holds(s, i)
		if ok {
			rows = append(rows, row{mark: good, left: label(b[i]) + " before " + label(b[i+1])})
		} else {
			rows = append(rows, row{mark: bad, left: s.calls[at].summary(), right: "want after " + label(b[i])})
		}
	}
	return rows
}

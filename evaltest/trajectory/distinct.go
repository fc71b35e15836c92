package trajectory

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// distinct is a list of tools that must not be called twice with the same arguments; none stands for all tools.
type distinct []string

func (d distinct) check() error {
	if slices.Contains(d, "") {
		return errors.New("no_duplicates: a tool needs a name")
	}
	return nil
}

// duplicate is a call that was made before.
type duplicate struct{ call, first int }

// duplicates returns the duplicates of the tool, of all tools if it is empty, in order.
func duplicates(s *session, tool string) []duplicate {
	var found []duplicate
	seen := make(map[uint64][]int)
	for j := range s.calls {
		o := &s.calls[j]
		if tool != "" && o.Name != tool {
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
				fmt.Sprintf("call %d is call %d again: %s", f.call+1, f.first+1, s.calls[f.call].name()))
		}
	})
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
				mark: bad, left: s.calls[f.call].summary(), right: fmt.Sprintf("want no duplicate of call %d", f.first+1),
			})
		}
	})
	return rows
}

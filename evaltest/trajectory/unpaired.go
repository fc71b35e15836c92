package trajectory

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/toolname"
)

// unpaired are expected calls each of which stands for all calls that it accepts.
type unpaired struct {
	name  string // of the constraint, as in YAML
	calls []Call // ready
	err   error
}

func byName(tools []string) []Call {
	calls := make([]Call, len(tools))
	for i, tool := range tools {
		calls[i] = Tool(tool)
	}
	return calls
}

func newUnpaired(name string, calls []Call) unpaired {
	u := unpaired{name: name, calls: make([]Call, len(calls))}
	var errs []error
	for i, c := range calls {
		var err error
		u.calls[i], err = c.ready()
		if err == nil && c.limit > 0 {
			err = errors.New("a limit has no effect here")
		}
		for _, tool := range toolsOf(c) {
			if bad := toolname.Check(tool); err == nil && bad != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, bad))
			}
		}
		switch {
		case err != nil && c.tool+c.kind+c.deed == "" && !c.isAny:
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %s: %w", name, c.name(), err))
		}
	}
	u.err = errors.Join(errs...)
	return u
}

// accepted returns the calls that c accepts.
func (s *session) accepted(c *Call) (calls []int) {
	for j := range s.calls {
		if c.accepts(&s.calls[j], s.cwd) {
			calls = append(calls, j)
		}
	}
	return calls
}

// toolsOf returns the tools that are expected by name.
func toolsOf(calls ...Call) []string {
	var tools []string
	for _, c := range calls {
		for _, a := range append([]Call{c}, c.any...) {
			if a.tool != "" {
				tools = append(tools, a.tool)
			}
		}
	}
	return tools
}

// was says that call j, an index, was as c expects.
func (c *Call) was(j int) string {
	if c.isAny || c.deed != "" {
		return fmt.Sprintf("call %d %v", j+1, c)
	}
	return fmt.Sprintf("%v was called (call %d)", c, j+1)
}

// never are calls that must not be made.
type never struct{ unpaired }

func (n never) check() error {
	if len(n.calls) == 0 {
		return errors.New("never: needs at least one tool")
	}
	return n.err
}

func (n never) judge(s *session) section {
	result := section{name: n.name, total: len(n.calls)}
	made := make([][]int, len(n.calls))
	for i := range n.calls {
		made[i] = s.accepted(&n.calls[i])
		if len(made[i]) == 0 {
			result.held++
		} else {
			result.problems = append(result.problems, n.calls[i].was(made[i][0]))
		}
	}
	if result.held == result.total {
		s.named(n.name, toolsOf(n.calls...))
	}
	result.rows = func() []row { return n.rows(s, made) }
	return result
}

// rows shows the calls that were made though they must not be, by the index of the call of n.
func (n never) rows(s *session, made [][]int) []row {
	var rows []row
	for i := range n.calls {
		c, want := &n.calls[i], "want never"
		if c.tool == "" || c.String() != c.name() {
			want += " " + c.String()
		}
		for _, j := range made[i] {
			rows = append(rows, row{mark: bad, left: s.calls[j].summary(), right: want, call: j + 1})
		}
		if len(made[i]) == 0 {
			rows = append(rows, row{mark: good, left: "never " + c.String()})
		}
	}
	return rows
}

// before are calls each of which must be made before the next.
type before struct{ unpaired }

func (b before) check() error {
	if len(b.calls) < 2 {
		return errors.New("before: needs at least two tools")
	}
	for i := range b.calls {
		if slices.ContainsFunc(b.calls[:i], func(c Call) bool { return c.String() == b.calls[i].String() }) {
			return fmt.Errorf("before: duplicate tool %s", excerpt.Quote(b.calls[i].String(), maxName))
		}
	}
	return b.err
}

// violation is a call that was made too early.
type violation struct {
	call    int  // an index
	without bool // what should come before it was never made
}

// violations returns for each pair of neighbours what is wrong with it, nil if it holds.
func (b before) violations(s *session) []*violation {
	acts, of := s, []int(nil)
	if slices.ContainsFunc(b.calls, func(c Call) bool { return c.hasDeed() }) {
		acts, of = s.acts()
	}
	made := make([][]int, len(b.calls))
	for i := range b.calls {
		made[i] = acts.accepted(&b.calls[i])
	}
	all := make([]*violation, len(b.calls)-1)
	for i := range all {
		first, second := made[i], made[i+1]
		if len(second) == 0 || len(first) > 0 && first[0] < second[0] {
			continue
		}
		all[i] = &violation{call: second[0], without: len(first) == 0}
		if of != nil {
			all[i].call = of[second[0]]
		}
	}
	return all
}

func (b before) judge(s *session) section {
	violations := b.violations(s)
	result := section{name: b.name, total: len(violations), rows: func() []row { return b.rows(s, violations) }}
	if !slices.ContainsFunc(violations, func(v *violation) bool { return v != nil }) {
		s.named(b.name, toolsOf(b.calls[1:]...))
	}
	for i, v := range violations {
		if v == nil {
			result.held++
			continue
		}
		how := "before"
		if v.without {
			how = "without"
		}
		result.problems = append(result.problems, fmt.Sprintf("%s %s %v", b.calls[i+1].was(v.call), how, b.calls[i]))
	}
	return result
}

func (b before) rows(s *session, violations []*violation) []row {
	var rows []row
	for i, v := range violations {
		r := row{mark: good, left: fmt.Sprintf("%v before %v", b.calls[i], b.calls[i+1])}
		if v != nil {
			r = row{mark: bad, left: s.calls[v.call].summary(), call: v.call + 1}
			r.right = fmt.Sprintf("want after %v", b.calls[i])
		}
		rows = append(rows, r)
	}
	return rows
}

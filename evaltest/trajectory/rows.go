package trajectory

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// rows explains a matched sequence: a row for each expected call and, where no other calls may be, for each of those.
func (m matched) rows() []row {
	near := m.nearest()
	shown := make([]bool, len(m.actual))
	for i, j := range m.pairs {
		if j != none {
			shown[j] = true
		} else if near[i] != none {
			shown[near[i]] = true
		}
	}
	var rows []row
	next := 0 // the first actual call that has not been passed
	others := func(end int) {
		for ; m.mode == exact && next < end; next++ {
			if !shown[next] {
				rows = append(rows, row{mark: extra, left: m.actual[next].summary(), right: "not expected"})
			}
		}
	}
	uncalled := false
	for i, j := range m.pairs {
		if j != none {
			others(j)
		}
		rows = append(rows, m.row(i, near[i]))
		uncalled = uncalled || j == none && near[i] == none
	}
	others(len(m.actual))
	if uncalled {
		rows = append(rows, row{left: m.called()})
	}
	return rows
}

// row explains expected call i, of which the actual call near came nearest if none is its partner.
func (m matched) row(i, near int) row {
	c, j := &m.calls[i], m.pairs[i]
	r := row{step: i + 1, mark: good}
	switch {
	case j != none:
		r.left, _ = m.compare(c, &m.actual[j])
		if !c.inTime(&m.actual[j]) {
			r.mark, r.right = bad, overrun(c, &m.actual[j])
		}
	case near != none:
		var wants []string
		r.mark = bad
		r.left, wants = m.compare(c, &m.actual[near])
		if g := m.gap(i); m.early(g, near) {
			wants = append(wants, fmt.Sprintf("after step %d", g.after+1))
		} else if m.late(g, near) {
			wants = append(wants, fmt.Sprintf("before step %d", g.before+1))
		}
		r.right = wanted(wants)
		if !c.inTime(&m.actual[near]) {
			r.right += "; " + overrun(c, &m.actual[near])
		}
	default:
		r.mark, r.left, r.right = bad, "(not called)", fold("want "+c.String(), maxReason)
		if slices.ContainsFunc(m.actual, func(o observed) bool { return c.calls(&o) }) {
			r.left = "(not called again)"
		}
	}
	return r
}

// wanted joins what a call should have been, as far as a line holds.
func wanted(wants []string) string {
	const most = 4
	if more := len(wants) - most; more > 0 {
		wants = append(wants[:most:most], fmt.Sprintf("%d more", more))
	}
	return "want " + strings.Join(wants, ", ")
}

// compare shows the actual call with the arguments that were expected of it, and what it lacks.
func (m matched) compare(c *Call, o *observed) (left string, wants []string) {
	if len(c.args) == 0 && c.mode != ExactArgs && c.mode != SubsetArgs {
		return o.summary(), nil
	}
	different := make(map[string][]string) // expected arguments as the call had them
	var others []string
	for d := range c.differences(o, m.cwd) {
		had, want := d.show()
		wants = append(wants, want...)
		if c.expects(d.name) {
			different[d.name] = had
		} else {
			others = append(others, had...)
		}
	}
	words := []string{o.name()}
	if o.whole != nil {
		words = append(words, show(o.whole))
	}
	for _, arg := range c.args {
		if had, ok := different[arg.name]; ok {
			words = append(words, had...)
		} else if got, ok := o.args[arg.name]; ok {
			words = append(words, assign(arg.name, show(got)))
		}
	}
	return fold(strings.Join(append(words, others...), " "), maxLine), wants
}

// gap is where the partner of an expected call may stand: after the call of one step and before that of another, each
// the nearest one with a partner, or none.
type gap struct{ after, before int }

// gap returns where the partner of expected call i may stand.
func (m matched) gap(i int) gap {
	if m.mode == superset {
		return gap{none, none}
	}
	g := gap{after: i - 1, before: i + 1}
	for g.after >= 0 && m.pairs[g.after] == none {
		g.after--
	}
	for g.before < len(m.pairs) && m.pairs[g.before] == none {
		g.before++
	}
	if g.before == len(m.pairs) {
		g.before = none
	}
	return g
}

// early and late report whether the actual call j stands before or after the gap.
func (m matched) early(g gap, j int) bool { return g.after != none && j < m.pairs[g.after] }
func (m matched) late(g gap, j int) bool  { return g.before != none && j > m.pairs[g.before] }

// unpaired yields the actual calls that are no partner of an expected one.
func (m matched) unpaired() iter.Seq[int] {
	return func(yield func(int) bool) {
		paired := make([]bool, len(m.actual))
		for _, j := range m.pairs {
			if j != none {
				paired[j] = true
			}
		}
		for j := range m.actual {
			if !paired[j] && !yield(j) {
				return
			}
		}
	}
}

// nearest returns for each expected call without a partner the actual call, itself without one, that comes nearest to
// it, or none: the same tool or kind, then fewest differing arguments, then the right place, then the earliest. No
// call is nearest to two.
func (m matched) nearest() []int {
	near := make([]int, len(m.calls))
	left := slices.Collect(m.unpaired())
	for i := range m.calls {
		near[i] = none
		if m.pairs[i] != none {
			continue
		}
		c, g := &m.calls[i], m.gap(i)
		best, bestRank := none, 0 // best indexes left
		for k, j := range left {
			if !c.calls(&m.actual[j]) {
				continue
			}
			rank := 0
			for range c.differences(&m.actual[j], m.cwd) {
				if rank += 2; best != none && rank > bestRank {
					break
				}
			}
			if m.early(g, j) || m.late(g, j) {
				rank++
			}
			if best == none || rank < bestRank {
				best, bestRank = k, rank
			}
		}
		if best != none {
			near[i] = left[best]
			left = slices.Delete(left, best, best+1)
		}
	}
	return near
}

// called lists the tools that the run called.
func (m matched) called() string {
	if len(m.actual) == 0 {
		return "no tool was called"
	}
	counts := make(map[string]int)
	var names []string
	for i := range m.actual {
		name := m.actual[i].name()
		if counts[name]++; counts[name] == 1 {
			names = append(names, name)
		}
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	const most = 8
	more := len(names) - most
	if more > 0 {
		names = names[:most]
	}
	for i, name := range names {
		names[i] = name + " " + strconv.Itoa(counts[name])
	}
	if more > 0 {
		names = append(names, fmt.Sprintf("%d other tools", more))
	}
	return "called: " + strings.Join(names, ", ")
}

// name returns what the call is called.
func (o *observed) name() string {
	if o.Name == "" && o.Kind != "" {
		return "kind " + label(o.Kind)
	}
	return label(o.Name)
}

// summary shows the call with its first arguments.
func (o *observed) summary() string {
	words := []string{o.name()}
	if o.whole != nil {
		words = append(words, show(o.whole))
	}
	for i, name := range o.names {
		if i == maxArgs {
			words = append(words, "…")
			break
		}
		words = append(words, assign(name, show(o.args[name])))
	}
	return strings.Join(words, " ")
}

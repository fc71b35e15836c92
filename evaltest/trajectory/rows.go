package trajectory

import (
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// rows explains a matched sequence. There is a row for each expected call and, if other calls are not allowed, for each
// of those.
func (m matched) rows() []row {
	near := m.nearest()
	shown := make([]bool, len(m.session.calls))
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
		for ; m.mode.closed() && next < end; next++ {
			if !shown[next] {
				o := m.actual(next)
				rows = append(rows, row{mark: extra, left: o.summary(), right: "not expected", call: next + 1})
			}
		}
	}
	uncalled := m.mode == subset && len(m.session.calls) == 0
	for i, j := range m.pairs {
		if j == none && near[i] == none {
			if m.mode == subset {
				continue // subset: the call need not be made
			}
			uncalled = true
		}
		if j != none && m.mode.ordered() {
			others(j)
		}
		rows = append(rows, m.row(i, near[i]))
	}
	others(len(m.session.calls))
	if uncalled {
		rows = append(rows, row{left: m.called()})
	}
	return rows
}

// row explains expected call i. If the call has no partner, near is the actual call that came nearest, or none.
func (m matched) row(i, near int) row {
	c, j := &m.calls[i], m.pairs[i]
	r := row{step: i + 1, mark: good}
	switch {
	case j != none:
		r.left, _ = m.compare(c, m.actual(j))
		if !c.inTime(m.actual(j)) {
			r.mark, r.right, r.call = bad, overrun(c, m.actual(j)), j+1
		}
	case near != none:
		var wants []string
		r.mark, r.call = bad, near+1
		r.left, wants = m.compare(c, m.actual(near))
		if where := m.misplaced(m.gap(i), near); where != "" {
			wants = append(wants, where)
		} else if len(wants) == 0 && m.mode == strict {
			wants = append(wants, m.grouping(i))
		}
		r.right = wanted(wants)
		if !c.inTime(m.actual(near)) {
			r.right += "; " + overrun(c, m.actual(near))
		}
	default:
		r.mark, r.left, r.right = bad, "(not called)", excerpt.Head("want "+c.String(), maxReason)
		if slices.ContainsFunc(m.session.calls, func(o observed) bool { return c.calls(&o) }) {
			r.left = "(not called again)"
		}
	}
	return r
}

// wanted joins the first of the texts that say what a call should have been.
func wanted(wants []string) string {
	const most = 4
	if more := len(wants) - most; more > 0 {
		wants = append(wants[:most:most], fmt.Sprintf("%d more", more))
	}
	return "want " + strings.Join(wants, ", ")
}

// compare shows the actual call with its arguments that were expected, and what it should have been.
func (m matched) compare(c *Call, o *observed) (left string, wants []string) {
	c = c.forCall(o, m.session.cwd)
	if len(c.args) == 0 && c.mode != ExactArgs && c.mode != SubsetArgs {
		return o.summary(), m.broken(c, o)
	}
	different := make(map[string][]string) // expected arguments as the call had them
	var others []string
	for d := range c.differences(o, m.session.cwd) {
		had, want := d.show()
		wants = append(wants, want...)
		if c.expects(d.name) {
			different[d.name] = had
		} else {
			others = append(others, had...)
		}
	}
	if len(wants) == 0 {
		wants = m.broken(c, o)
	}
	words := []string{o.name()}
	if o.whole != nil {
		words = append(words, show(o.whole))
	}
	for i := range c.args {
		arg := &c.args[i]
		if had, ok := different[arg.name]; ok {
			words = append(words, had...)
		} else if got, ok := arg.of(o, c); ok {
			words = append(words, assign(arg.name, show(got)))
		}
	}
	return excerpt.Head(strings.Join(append(words, others...), " "), maxLine), wants
}

// broken returns the rules of c that the call breaks.
func (m matched) broken(c *Call, o *observed) (wants []string) {
	if !c.by.made(o) {
		wants = append(wants, "by "+string(c.by))
	}
	for _, r := range c.rules {
		switch holds, err := r.ask(o); {
		case err != nil:
			wants = append(wants, label(r.name)+" (panicked)")
		case !holds:
			wants = append(wants, label(r.name))
		}
	}
	return wants
}

// grouping says with which step expected call i should be made together.
func (m matched) grouping(i int) string {
	for k, g := range m.groups {
		if g == m.groups[i] && k != i {
			return fmt.Sprintf("together with step %d", k+1)
		}
	}
	return "apart from others"
}

// gap is the range of places for the partner of an expected call: after the partner of step after, and before that of
// step before, which are the nearest steps that have partners, or none.
type gap struct{ after, before int }

// gap returns the range of places for the partner of expected call i.
func (m matched) gap(i int) gap {
	if !m.mode.ordered() {
		return gap{none, none}
	}
	g := gap{after: i - 1, before: i + 1}
	for g.after >= 0 && (m.pairs[g.after] == none || m.together(g.after, i)) {
		g.after--
	}
	for g.before < len(m.pairs) && (m.pairs[g.before] == none || m.together(g.before, i)) {
		g.before++
	}
	if g.before == len(m.pairs) {
		g.before = none
	}
	return g
}

// misplaced says where the actual call j should be. It is empty if the call is in the gap.
func (m matched) misplaced(g gap, j int) string {
	switch {
	case g.after != none && j < m.pairs[g.after]:
		return fmt.Sprintf("after step %d", g.after+1)
	case g.before != none && j > m.pairs[g.before]:
		return fmt.Sprintf("before step %d", g.before+1)
	default:
		return ""
	}
}

// together reports whether two expected calls are of one group.
func (m matched) together(i, k int) bool { return m.mode == strict && m.groups[i] == m.groups[k] }

// unpaired yields the actual calls without a partner.
func (m matched) unpaired() iter.Seq[int] {
	return func(yield func(int) bool) {
		paired := make([]bool, len(m.session.calls))
		for _, j := range m.pairs {
			if j != none {
				paired[j] = true
			}
		}
		for j := range m.session.calls {
			if !paired[j] && !yield(j) {
				return
			}
		}
	}
}

// nearest returns for each expected call without a partner the nearest actual call without a partner, or none: of the
// same tool or kind the one with the fewest differing arguments, then in the right place, then the earliest. No actual
// call is nearest to two expected ones.
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
			if !c.calls(m.actual(j)) {
				continue
			}
			rank := 0
			for range c.forCall(m.actual(j), m.session.cwd).differences(m.actual(j), m.session.cwd) {
				if rank += 2; best != none && rank > bestRank {
					break
				}
			}
			if m.misplaced(g, j) != "" {
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

// called lists the tools that were called in the run.
func (m matched) called() string {
	if len(m.session.calls) == 0 {
		return "no tool was called"
	}
	counts := make(map[string]int)
	var names []string
	for i := range m.session.calls {
		name := m.actual(i).name()
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
	line := "called: " + strings.Join(names, ", ")
	if slices.ContainsFunc(m.calls, func(c Call) bool { return c.hasDeed() }) {
		line += "; done: " + m.done()
	}
	return line
}

// done lists what the calls of the run did.
func (m matched) done() string {
	counts := make(map[string]int)
	for i := range m.session.calls {
		for _, d := range m.actual(i).does() {
			counts[d]++
		}
	}
	var done []string
	for _, d := range Deeds() {
		if counts[d] > 0 {
			done = append(done, d+" "+strconv.Itoa(counts[d]))
		}
	}
	if done == nil {
		return "nothing that is known"
	}
	return strings.Join(done, ", ")
}

// name returns the name of the call's tool, or its kind if there is no name.
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
	for i, name := range o.names() {
		if i == maxArgs {
			words = append(words, "…")
			break
		}
		words = append(words, assign(name, show(o.args[name])))
	}
	return strings.Join(words, " ")
}

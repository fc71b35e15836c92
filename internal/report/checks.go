package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Limits of what is shown of the checks of arms.
const (
	maxPageChecks     = 5000
	maxMarkdownChecks = 30
)

// armCheck is a check of a case in all variants of a run that has references.
type armCheck struct {
	Case string `json:"case"`
	// Evaluator is its name, ID the check's in that.
	Evaluator string `json:"by"`
	ID        string `json:"id"`
	Text      string `json:"text,omitempty"` // empty: the evaluator's name says it
	// Arms are in the order of the variants.
	Arms []armCount `json:"arms"`
	// Flip is 1 if an arm passes it more often than its reference, and none less often; -1 if one does so less often.
	Flip int `json:"flip,omitempty"`
}

// armCount is how often a check passed in an arm. Of units without a verdict on it nothing is known.
type armCount struct {
	Passed  int `json:"passed"`
	Judged  int `json:"judged"`
	Unknown int `json:"unknown,omitempty"`
}

// references returns the index of the variant with which each variant is to be compared, -1 for a reference itself; nil
// if the run has no arms to compare. That is the one made from it, else the first one that is most like it by the axes.
func (rep *Report) references() []int {
	of, arms := make([]int, len(rep.Variants)), 0
	for i, v := range rep.Variants {
		of[i] = -1
		if v.Reference {
			continue
		}
		best := -1
		for j, r := range rep.Variants {
			if !r.Reference {
				continue
			}
			alike := 0
			for axis, value := range v.Axes {
				if r.Axes[axis] == value {
					alike++
				}
			}
			if r.Of == v.ID {
				alike = len(v.Axes) + 1
			}
			if alike > best {
				best, of[i] = alike, j
			}
		}
		if of[i] >= 0 {
			arms++
		}
	}
	if arms == 0 {
		return nil
	}
	return of
}

// armChecks returns the checks of a run that has references, by case and in the order of the evaluators.
func (rep *Report) armChecks() []armCheck {
	references := rep.references()
	if references == nil {
		return nil
	}
	type key struct{ of, evaluator, id string }
	variants, rows, index := make(map[string]int), []armCheck(nil), make(map[key]int)
	units := make(map[[2]string]int) // that ran, by case and variant
	for i, v := range rep.Variants {
		variants[v.ID] = i
	}
	for _, u := range rep.Units {
		if u.Result == nil {
			continue
		}
		units[[2]string{u.Case, u.Variant}]++
		for _, e := range u.Result.Evaluations {
			for _, c := range e.Each() {
				k := key{u.Case, e.Name, c.ID}
				at, ok := index[k]
				if !ok {
					at, index[k] = len(rows), len(rows)
					row := armCheck{
						Case: u.Case, Evaluator: e.Name, ID: c.ID, Arms: make([]armCount, len(variants)),
					}
					if c.Text != e.Name {
						row.Text = excerpt.Bytes(c.Text, maxTeaser)
					}
					rows = append(rows, row)
				}
				n := &rows[at].Arms[variants[u.Variant]]
				if n.Judged++; c.Outcome == result.Pass {
					n.Passed++
				}
			}
		}
	}
	for i := range rows {
		for j, v := range rep.Variants {
			n := &rows[i].Arms[j]
			n.Unknown = max(0, units[[2]string{rows[i].Case, v.ID}]-n.Judged)
		}
		rows[i].flips(references)
	}
	return rows
}

func (c *armCheck) flips(references []int) {
	for i, r := range references {
		if r < 0 {
			continue
		}
		with, base := c.Arms[i], c.Arms[r]
		if with.Judged == 0 || base.Judged == 0 {
			continue
		}
		switch more := cmp.Compare(with.Passed*base.Judged, base.Passed*with.Judged); {
		case more < 0:
			c.Flip = -1
		case more > 0 && c.Flip == 0:
			c.Flip = 1
		}
	}
}

// pageChecks are those that the page shows, and how many it leaves out: of too many it has those that flip first.
func (rep *Report) pageChecks() (checks []armCheck, left int) {
	checks = rep.armChecks()
	if left = len(checks) - maxPageChecks; left <= 0 {
		return checks, 0
	}
	slices.SortStableFunc(checks, func(a, b armCheck) int { return b.Flip*b.Flip - a.Flip*a.Flip })
	checks = checks[:maxPageChecks]
	order := make(map[string]int)
	for i, c := range rep.Cases {
		order[c.ID] = i
	}
	slices.SortStableFunc(checks, func(a, b armCheck) int { return order[a.Case] - order[b.Case] })
	return checks, left
}

// String is for people: ✓ if it always passed, ✗ if it did not, ! if nothing is known.
func (n armCount) String() string {
	text := "–"
	switch {
	case n.Judged > 0 && n.Passed == n.Judged:
		text = fmt.Sprintf("✓ %d/%d", n.Passed, n.Judged)
	case n.Judged > 0:
		text = fmt.Sprintf("✗ %d/%d", n.Passed, n.Judged)
	}
	if n.Unknown > 0 {
		text += fmt.Sprintf(", %d unknown", n.Unknown)
	}
	return text
}

// arms says which checks flip between the arms of a run that has references, and what the comparison of arms comes to.
func (m *markdown) arms(rep *Report) {
	references := rep.references()
	if references == nil {
		return
	}
	for _, text := range rep.verdicts(references) {
		m.line("")
		m.line("%s", text)
	}
	checks := rep.armChecks()
	all := len(checks)
	checks = slices.DeleteFunc(checks, func(c armCheck) bool { return c.Flip == 0 })
	m.line("")
	m.line("%s of %s came out otherwise than in the reference.", thousands(int64(len(checks))), plural(all, "check"))
	slices.SortStableFunc(checks, func(a, b armCheck) int { return a.Flip - b.Flip }) // what was lost first
	for i, c := range checks[:min(len(checks), maxMarkdownChecks)] {
		if i == 0 {
			head, align := []string{"", "case", "check"}, []string{"---", "---", "---"}
			for _, v := range rep.Variants {
				head, align = append(head, code(v.ID)+v.name()[len(v.ID):]), append(align, "---")
			}
			m.line("")
			m.row(head)
			m.row(align)
		}
		mark := "▲ gained"
		if c.Flip < 0 {
			mark = "▼ lost"
		}
		cells := []string{mark, code(c.Case), code(cmp.Or(c.Text, c.Evaluator))}
		for _, n := range c.Arms {
			cells = append(cells, n.String())
		}
		m.row(cells)
	}
	if left := len(checks) - maxMarkdownChecks; left > 0 {
		m.line("")
		m.line("%s more are in report.html.", thousands(int64(left)))
	}
}

// verdicts says of each arm how it compares with its reference.
func (rep *Report) verdicts(references []int) (texts []string) {
	came, arms := rep.came(), []compare.Arms(nil)
	for i, r := range references {
		if r < 0 {
			continue
		}
		base, _ := came.Arm("", rep.Variants[r].ID) // of the same manifest
		head, _ := came.Arm("", rep.Variants[i].ID)
		arms = append(arms, compare.Arms{Base: base, Head: head})
	}
	for _, c := range (compare.Rule{Scope: compare.Suite, Alpha: .05, Margin: .05}).CompareAll(arms) {
		text := escape(c.Headline())
		if delta := float64(c.Delta); c.Verdict != compare.Invalid {
			text += fmt.Sprintf(" (pass rate %+.0f points, 95 %%: %+.0f to %+.0f)", 100*delta,
				100*float64(c.Interval[0]), 100*float64(c.Interval[1]))
		}
		name := func(s compare.Summary) string { return code(strings.TrimPrefix(s.Name, ":")) }
		texts = append(texts, fmt.Sprintf("%s compared with %s: %s", name(c.Head), name(c.Base), text))
	}
	return texts
}

package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/baseline"
	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/skill"
)

// checkCount is how one check of a case ended in the trials of one arm.
type checkCount struct {
	passed, known, trials int
	// evidence is of a trial that failed, and reason why nothing is known of another.
	evidence, reason string
}

// mark shows the count: ✓ and ✗ for what all trials say, else how many of them passed.
func (c checkCount) mark() string {
	switch {
	case c.trials == 0:
		return "–"
	case c.known < c.trials:
		return "?"
	case c.passed == c.known && c.trials == 1:
		return "✓"
	case c.passed == 0 && c.trials == 1:
		return "✗"
	case c.passed == c.known:
		return fmt.Sprintf("✓ %d/%d", c.passed, c.known)
	case c.passed == 0:
		return fmt.Sprintf("✗ 0/%d", c.known)
	}
	return fmt.Sprintf("%d/%d", c.passed, c.known)
}

// rate is the share of the trials that passed; false: nothing is known.
func (c checkCount) rate() (float64, bool) {
	return float64(c.passed) / float64(max(c.known, 1)), c.known > 0
}

// checkTable is how the checks of a skill's cases ended, by case, check and arm.
type checkTable struct {
	suite *skill.Suite
	arms  []string // their ids, with first
	void  []string
	cells map[[3]string]checkCount
	shown func(file string) string
}

// tellChecks prints how each check ended in each arm, and the evidence of those that matter. It returns the cases with
// a check of which nothing is known.
func (a *App) tellChecks(r *skillRun, done engine.Finished) (unjudged []string) {
	t := checkTable{
		suite: r.suite, arms: []string{skill.With}, void: r.void(), cells: make(map[[3]string]checkCount),
		shown: a.shownFile,
	}
	t.arms = append(t.arms, r.others()...)
	for _, u := range done.Units {
		t.add(u)
	}
	columns := 0
	if size := screenOf(a.Stderr, a.Getenv, a.Now).size; size != nil {
		columns, _ = size()
	}
	fmt.Fprintf(a.Stdout, "\n%s\n", a.secrets.String(strings.Join(t.lines(columns, newPaint(a)), "\n")))
	for key, n := range t.cells {
		if n.known < n.trials && !slices.Contains(unjudged, key[0]) {
			unjudged = append(unjudged, key[0])
		}
	}
	slices.Sort(unjudged)
	return unjudged
}

// add counts the checks of a unit.
func (t checkTable) add(u result.Unit) {
	for _, c := range t.suite.Cases {
		if c.ID != u.Case || !c.Runs() {
			continue
		}
		for _, k := range c.Checks {
			key := [3]string{c.ID, k.ID, u.Variant}
			n := t.cells[key]
			n.trials++
			switch found, ok := skill.Judged(k, u.Evaluations); {
			case !ok:
				n.reason = reasonOf(u)
			case found.Outcome == result.Pass:
				n.known, n.passed = n.known+1, n.passed+1
			default:
				n.known, n.evidence = n.known+1, found.Evidence
			}
			t.cells[key] = n
		}
	}
}

// reasonOf says why nothing is known of a unit's checks.
func reasonOf(u result.Unit) string {
	if u.Reason != "" {
		return u.Reason
	}
	for _, e := range u.Evaluations {
		if e.Outcome == result.Error || e.Outcome == result.Skip {
			return e.Reason
		}
	}
	return string(u.Outcome)
}

// flip says how the check differs between with and another arm: better, worse or not.
func flip(with, other checkCount) string {
	a, known := with.rate()
	b, otherKnown := other.rate()
	switch {
	case !known || !otherKnown || a == b:
		return ""
	case a > b:
		return "better"
	}
	return "worse"
}

const leastCheckWidth = 20 // columns of the text of a check

// lines returns the table, and below it the evidence of checks that fail with the skill or differ.
func (t checkTable) lines(columns int, p paint) []string {
	marks := make([]int, len(t.arms))
	for i, arm := range t.arms {
		marks[i] = max(width(arm), 5)
	}
	room := 72
	if columns > 0 {
		room = columns
		for _, w := range marks {
			room -= w + 2
		}
		room = max(room-8, leastCheckWidth) // for better or worse
	}
	var head strings.Builder
	head.WriteString(strings.Repeat(" ", room))
	for i, arm := range t.arms {
		head.WriteString("  " + arm + strings.Repeat(" ", marks[i]-width(arm)))
	}
	lines := []string{strings.TrimRight(head.String(), " ")}
	var below []string
	for _, c := range t.suite.Cases {
		ran := false
		if !c.Runs() {
			continue
		}
		for _, k := range c.Checks {
			for _, arm := range t.arms {
				ran = ran || t.cells[[3]string{c.ID, k.ID, arm}].trials > 0
			}
		}
		if !ran {
			continue
		}
		title := c.ID
		if c.Name != "" && c.Name != c.Given {
			title += "  " + excerpt.Line(c.Name, 60)
		}
		if slices.Contains(t.void, c.ID) {
			title += "  (void: both arms get the skill's files)"
		}
		lines = append(lines, p.bold(cut(printable(title), max(columns, 72))))
		for _, k := range c.Checks {
			row, why := t.row(c, k, room, marks, p)
			lines, below = append(lines, row), append(below, why...)
		}
	}
	if len(below) > 0 {
		lines = append(append(lines, ""), below...)
	}
	return lines
}

// row returns the line of a check, and why it is as it is if that matters.
func (t checkTable) row(c skill.Case, k skill.Check, room int, marks []int, p paint) (row string, why []string) {
	text := cut(printable("  "+excerpt.Line(k.Text, 300)), room)
	row = text + strings.Repeat(" ", room-width(text))
	with, said := t.cells[[3]string{c.ID, k.ID, skill.With}], ""
	for i, arm := range t.arms {
		n := t.cells[[3]string{c.ID, k.ID, arm}]
		mark := n.mark()
		row += "  " + colorMark(p, n, mark) + strings.Repeat(" ", marks[i]-width(mark))
		if f := flip(with, n); arm != skill.With && f != "" && !slices.Contains(t.void, c.ID) {
			said = f
		}
		if arm != skill.With && said == "" && n.reason == "" {
			continue // as without the skill, so with it
		}
		if n.evidence != "" {
			why = append(why, "    "+arm+": "+printable(excerpt.Line(n.evidence, 300)))
		}
		if n.reason != "" {
			why = append(why, "    "+arm+": "+printable(excerpt.Line(n.reason, 300)))
		}
	}
	switch said {
	case "better":
		row += "  " + p.green(said)
	case "worse":
		row += "  " + p.red(said)
	}
	if len(why) > 0 {
		at := fmt.Sprintf("%s:%d: %s: ", t.shown(k.Position.File), k.Position.Line, c.ID)
		why = append([]string{printable(at + excerpt.Line(k.Text, 160))}, why...)
	}
	return strings.TrimRight(row, " "), why
}

func colorMark(p paint, n checkCount, mark string) string {
	switch rate, known := n.rate(); {
	case !known || n.known < n.trials:
		return p.cyan(mark)
	case rate == 1:
		return p.green(mark)
	}
	return p.red(mark)
}

// compareArms pairs the arm with the skill with the others, without the cases of which nothing can be told.
func (a *App) compareArms(r *skillRun, done engine.Finished, ended error) ([]compare.Arms, error) {
	if ended != nil || len(r.arms) < 2 {
		return nil, ended
	}
	var all []compare.Arms
	find := baseline.Finder{Root: r.suite.Root, Dir: a.Dir, Mask: a.secrets}
	for _, id := range r.others() {
		arms, err := find.One(done.ID, id, skill.With)
		if err != nil {
			return nil, err
		}
		for _, pair := range arms {
			pair.Base.Cases, pair.Head.Cases = r.telling(pair.Base.Cases), r.telling(pair.Head.Cases)
			all = append(all, pair)
		}
	}
	return all, nil
}

// telling returns the cases of which a difference can be told.
func (r *skillRun) telling(cases []compare.Case) []compare.Case {
	void := r.void()
	return slices.DeleteFunc(slices.Clone(cases), func(c compare.Case) bool {
		return slices.ContainsFunc(void, func(id string) bool { return strings.HasSuffix(c.ID, "/"+id) })
	})
}

// tellComparison prints whether the skill helps, and how sure that is.
func (a *App) tellComparison(arms []compare.Arms) {
	rule := compare.Rule{Scope: compare.Suite, Alpha: planAlpha, Margin: planAlpha}
	for _, c := range rule.CompareAll(arms) {
		fmt.Fprintf(a.Stdout, "\n%s\n", strings.TrimRight(c.Text(), "\n"))
	}
}

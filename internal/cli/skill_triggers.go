package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/skill"
)

// shows returns an error for agents of which nobody could tell which skills they use.
func shows(kind string) error {
	if p, _ := agent.Lookup(kind); p.Activation != nil {
		return nil
	}
	return &exitError{
		code: exitHarness,
		err: fmt.Errorf("skill: cannot measure whether the skill fires: it is not known how agents of kind %s show "+
			"which skills they use", kind),
		next: "name another agent with --agent; docs/agents.md says which kinds show it",
	}
}

// atQueries says how to ask the queries of a skill that has no cases.
func atQueries(o skillOptions, s *skill.Suite) string {
	n := len(s.Asked())
	switch commands := s.Commands(); {
	case commands > 0 && !o.triggers:
		return "; " + excerpt.Count(commands, "prompt") + " with a /command, which --plugin runs"
	case o.triggers:
		return "; and no query, as in evals/trigger-eval.json"
	case n > 0:
		return fmt.Sprintf(": it has %d queries, which --triggers asks", n)
	}
	return ""
}

// triggered is what came of one query.
type triggered struct {
	fired  map[string]int // in how many trials, by skill
	known  int            // trials of which something is known
	trials int
	passed int
	reason string // why of others nothing is known
}

// tellTriggers prints what fired with each query, and how well that is what should.
func (a *App) tellTriggers(r *skillRun, done engine.Finished, rep *report.Report) {
	came := make(map[string]*triggered)
	for _, u := range done.Units {
		if came[u.Case] == nil {
			came[u.Case] = &triggered{fired: make(map[string]int)}
		}
		came[u.Case].add(u)
	}
	p := newPaint(a)
	at := func(q skill.Query) string {
		return fmt.Sprintf("%s:%d: %s", a.shownFile(q.Position.File), q.Position.Line, q.ID)
	}
	rows := [][]string{{"", "should fire", "fired", ""}}
	var marks []bool
	var below []string
	for _, q := range r.suite.Queries {
		t := came[q.ID]
		if t == nil {
			continue
		}
		rows = append(rows, []string{
			excerpt.Line(q.Prompt, 60), orNone(q.Skills), t.says(), q.ID,
		})
		marks = append(marks, t.right())
		if t.reason != "" {
			below = append(below, at(q)+": "+excerpt.Line(t.reason, 300))
		} else if !t.right() {
			below = append(below, at(q)+": "+excerpt.Line(q.Prompt, 160))
		}
	}
	lines := table(rows)
	fmt.Fprintf(a.Stdout, "\n%s\n", p.bold(lines[0]))
	for i, line := range lines[1:] {
		mark := p.red("✗")
		if marks[i] {
			mark = p.green("✓")
		}
		fmt.Fprintf(a.Stdout, "%s %s\n", mark, a.secrets.String(line))
	}
	for _, line := range below {
		fmt.Fprintln(a.Stdout, a.secrets.String(printable(line)))
	}
	if rep == nil {
		return
	}
	for _, rows := range [][][]string{rep.Activation(), rep.Confusion()} {
		if rows != nil {
			fmt.Fprintf(a.Stdout, "\n%s\n", strings.Join(table(rows), "\n"))
		}
	}
}

// orNone names skills.
func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " or ")
}

func (t *triggered) add(u result.Unit) {
	t.trials++
	switch u.Outcome {
	case result.Pass:
		t.passed++
	case result.Fail:
	default:
		t.reason = reasonOf(u)
		return
	}
	t.known++
	for _, a := range u.Activations() {
		if a.Fired != nil && *a.Fired {
			t.fired[a.Name]++
		}
	}
}

// right reports whether the query did what it should in half of its trials, as its playbook has it.
func (t *triggered) right() bool { return t.known == t.trials && 2*t.passed >= t.trials }

// says tells which skills fired, in how many trials of those of which that is known.
func (t *triggered) says() string {
	var parts []string
	for name := range t.fired {
		parts = append(parts, fmt.Sprintf("%s %d/%d", name, t.fired[name], t.known))
	}
	slices.Sort(parts)
	switch {
	case t.known == 0:
		return "?"
	case parts == nil:
		parts = []string{fmt.Sprintf("0/%d", t.known)}
	}
	if t.known < t.trials {
		parts = append(parts, fmt.Sprintf("? %d", t.trials-t.known))
	}
	return strings.Join(parts, ", ")
}

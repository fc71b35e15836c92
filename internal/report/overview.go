package report

import (
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Overview returns the variants as a table for a terminal: its head, then a row for each variant. What is not known is
// a dash. Currencies are called as agents call them.
func (rep *Report) Overview() [][]string {
	rows := [][]string{{"variant", "results", "passed", "score", "time", "tokens", "cost"}}
	for _, v := range rep.Variants {
		rows = append(rows, []string{
			v.name(), v.Cases.String(), rep.passRate(v.Cases), score(v.Score), v.Time.time(), v.Tokens.Total.integer(),
			money(v.Cost, func(currency string) string { return currency }),
		})
	}
	return rows
}

// passRate returns how many of the results passed. An error is one of them; what was skipped is not. It is 100% only if
// all passed, and unknown if nothing was judged.
func (rep *Report) passRate(c Counts) string {
	of := c.sum() - c.Skip
	if !rep.Run.Judged || of == c.NotRun {
		return unknown
	}
	return fmt.Sprintf("%d%%", 100*c.Pass/of)
}

// Reason is why something did not pass.
type Reason struct {
	Outcome result.Outcome
	// Reference says that it is of a variant that is there to be compared with: the failure decides nothing.
	Reference bool
	// Check is the evaluator that says so, empty for a result as a whole and for a job.
	Check string
	// Position is the first place in the playbook that says what was wanted, file:line, or empty.
	Position string
	// Text is what is said.
	Text string
	// Of names what it is said of, case/variant or a job, in the report's order.
	Of []string
}

// Reasons returns why not everything passed, the most frequent reasons first. What several results say in the same
// words is one reason.
func (rep *Report) Reasons() []Reason {
	type key struct {
		outcome     result.Outcome
		reference   bool
		check, text string
	}
	var reasons []Reason
	index := make(map[key]int)
	add := func(f flaw, o result.Outcome, position, text string) {
		k := key{o, f.decidesNothing(), f.check, text}
		i, known := index[k]
		if !known {
			i = len(reasons)
			index[k] = i
			reasons = append(reasons, Reason{
				Outcome: o, Reference: k.reference, Check: f.check, Position: position, Text: text,
			})
		}
		of := f.of.Case + "/" + f.of.Variant
		if f.job != "" {
			of = "job " + f.job
		}
		if r := &reasons[i]; len(r.Of) == 0 || r.Of[len(r.Of)-1] != of {
			r.Of = append(r.Of, of)
		}
	}
	for _, f := range rep.flaws() {
		list := bad(f.findings)
		if len(list) == 0 {
			add(f, f.outcome, "", why(nil, f.of))
		}
		for _, finding := range list {
			add(f, finding.Outcome, finding.Position, finding.Reason)
		}
	}
	for _, f := range rep.Run.findings() {
		reasons = append(reasons, Reason{Outcome: f.Outcome, Text: f.Reason, Of: []string{"the run as a whole"}})
	}
	slices.SortStableFunc(reasons, func(a, b Reason) int {
		if a.Reference != b.Reference { // what decides nothing comes last
			return map[bool]int{true: 1, false: -1}[a.Reference]
		}
		return len(b.Of) - len(a.Of)
	})
	return reasons
}

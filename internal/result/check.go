package result

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// Each returns the checks of an evaluation: what it judged one by one or, where it judged one thing, itself, whose id
// is the evaluator's name. Only what passed or failed has checks.
func (e Evaluation) Each() []Check {
	switch {
	case e.Outcome != Pass && e.Outcome != Fail:
		return nil
	case len(e.Checks) > 0:
		return e.Checks
	}
	return []Check{{ID: e.Name, Text: e.Name, Outcome: e.Outcome, Evidence: cmp.Or(e.Detail, e.Reason)}}
}

const (
	maxCheckText = 200 // characters of what a check says
	maxEvidence  = 300
)

// Unmet returns for people the checks that do not hold, each in a line with its evidence, and with more than limit how
// many others there are. The check with which the reason begins is left out, and so are all of what passed.
func (e Evaluation) Unmet(limit int) (lines []string) {
	if e.Outcome == Pass {
		return nil
	}
	for _, c := range e.Checks {
		text := excerpt.Line(cmp.Or(c.Text, c.ID), maxCheckText)
		if c.Outcome == Pass || strings.HasPrefix(e.Reason, text+": ") {
			continue
		}
		if c.Evidence != "" {
			text += ": " + excerpt.Line(c.Evidence, maxEvidence)
		}
		lines = append(lines, "✗ "+text)
	}
	if more := len(lines) - limit; more > 0 {
		lines = append(lines[:limit], fmt.Sprintf("… and %d more", more))
	}
	return lines
}

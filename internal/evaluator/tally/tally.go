// Package tally adds up which of an evaluator's expectations hold.
package tally

import (
	"fmt"
	"math"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Tally is a list of expectations, each of which holds or does not. The zero value is empty.
type Tally struct {
	scores, weights []float64
	missed          int
	reason          string // the first that does not hold
	lines           []string
}

// Hold adds an expectation that holds. What says what it is, in one line.
func (t *Tally) Hold(weight float64, what string) {
	t.scores, t.weights = append(t.scores, 1), append(t.weights, weight)
	t.lines = append(t.lines, "✓ "+what)
}

// Miss adds an expectation that does not hold. The first line of problem says why, the others show it.
func (t *Tally) Miss(weight float64, what, problem string) {
	t.scores, t.weights = append(t.scores, 0), append(t.weights, weight)
	summary, excerpt, _ := strings.Cut(problem, "\n")
	if t.missed == 0 {
		t.reason = what + ": " + summary
	}
	t.missed++
	t.lines = append(t.lines, "✗ "+what+": "+summary)
	if excerpt != "" {
		t.lines = append(t.lines, Indent(excerpt))
	}
}

// Verdict returns the verdict of the expectations. There is at least one, and at least one has weight.
func (t *Tally) Verdict() evaluator.Verdict {
	score := Mean(t.scores, t.weights)
	v := evaluator.Verdict{Outcome: result.Pass, Score: &score, Detail: strings.Join(t.lines, "\n")}
	if t.missed > 0 {
		v.Reason = t.reason
		if t.missed > 1 {
			v.Reason += fmt.Sprintf(" (and %d more)", t.missed-1)
		}
	}
	if score < 1 {
		v.Outcome = result.Fail
	}
	return v
}

// Mean returns the mean of scores in 0..1 by weight. It is 1 only if all scores with weight are: rounding makes no full
// score of what is less. The sum of the weights is positive and finite.
func Mean(scores, weights []float64) float64 {
	var sum, weight float64
	full := true
	for i, s := range scores {
		sum += s * weights[i]
		weight += weights[i]
		full = full && (s == 1 || weights[i] == 0)
	}
	if full {
		return 1
	}
	return min(sum/weight, math.Nextafter(1, 0))
}

// Indent moves a text of one or more lines to the right.
func Indent(text string) string { return "    " + strings.ReplaceAll(text, "\n", "\n    ") }

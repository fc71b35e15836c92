package codejudge

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/tally"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// verdict turns the judge's result into a verdict. A judge that says no to a passing score contradicts itself.
func verdict(r judge.Result, threshold float64) evaluator.Verdict {
	if r.Pass != nil && !*r.Pass && r.Score >= threshold {
		return evaluator.Verdict{
			Outcome: result.Error,
			Reason:  fmt.Sprintf("the judge says pass: false with a score of %.4g, which reaches the threshold of %.4g", r.Score, threshold),
		}
	}
	v := evaluator.Verdict{Outcome: result.Pass, Score: &r.Score, Detail: detail(r)}
	switch {
	case r.Score < 1 || r.Pass != nil && !*r.Pass:
		v.Outcome, v.Reason = result.Fail, reason(r)
	case len(failedChecks(r.Checks)) > 0 || len(r.Misses) > 0:
		v.Reason = reason(r)
	}
	return v
}

// reason returns in one line why the score is not full, or what is wrong although the judge says that all is well.
func reason(r judge.Result) string {
	text := fmt.Sprintf("score %.3g", r.Score)
	switch failed := failedChecks(r.Checks); {
	case r.Pass != nil && *r.Pass && len(failed) > 0:
		text = fmt.Sprintf("%d of %d checks failed: %s", len(failed), len(r.Checks), failed[0])
	case r.Score == 1 && len(r.Misses) > 0:
		text = "missed: " + more(r.Misses[0], len(r.Misses)-1)
	case r.Reason != "":
		text = r.Reason
	case len(r.Misses) > 0:
		text = more(r.Misses[0], len(r.Misses)-1)
	case len(failed) > 0:
		text = more(failed[0], len(failed)-1)
	}
	return strings.Join(strings.Fields(text), " ")
}

func failedChecks(checks []judge.Check) []string {
	var failed []string
	for _, c := range checks {
		if !c.Pass {
			failed = append(failed, describe(c))
		}
	}
	return failed
}

func more(text string, others int) string {
	if others == 0 {
		return text
	}
	return fmt.Sprintf("%s (and %d more)", text, others)
}

// describe returns a check without its outcome: "id text (0.5): reason".
func describe(c judge.Check) string {
	text := strings.TrimSpace(c.ID + " " + c.Text)
	if c.Score != nil {
		text += fmt.Sprintf(" (%.3g)", *c.Score)
	}
	if c.Reason != "" {
		text += ": " + c.Reason
	}
	return text
}

// detail returns everything that the judge said.
func detail(r judge.Result) string {
	var lines []string
	add := func(mark, text string) {
		if text = strings.TrimSpace(text); text != "" {
			first, rest, _ := strings.Cut(text, "\n")
			lines = append(lines, mark+first)
			if rest != "" {
				lines = append(lines, tally.Indent(rest))
			}
		}
	}
	for _, hit := range r.Hits {
		add("✓ ", hit)
	}
	for _, miss := range r.Misses {
		add("✗ ", miss)
	}
	for _, c := range r.Checks {
		mark := "✗ "
		if c.Pass {
			mark = "✓ "
		}
		add(mark, describe(c))
	}
	add("", r.Reason)
	if r.Details != nil {
		var text bytes.Buffer
		_ = json.Indent(&text, r.Details, "", "  ") // it was parsed
		add("details: ", text.String())
	}
	return strings.Join(lines, "\n")
}

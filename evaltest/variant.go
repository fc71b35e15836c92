package evaltest

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// variant runs the trials of one case under one variant and reports them: each evaluator as a subtest over all trials,
// then what only the trials as wholes tell.
func (h *harness) variant(t *testing.T, ctx context.Context, runner *engine.Runner, run kept, units []playbook.Unit) {
	t.Helper()
	trials := make([]result.Unit, len(units))
	for i, u := range units {
		trials[i] = runner.Unit(ctx, u, t.Output())
		run.unit(t, trials[i])
	}
	v := verdict{harness: h, id: path.Dir(trials[0].ID), trials: trials, need: runner.Need()}
	v.attributes(t)
	for _, name := range evaluatorNames(trials) {
		t.Run(name, func(t *testing.T) {
			t.Helper()
			v.evaluator(t, name)
		})
	}
	v.whole(t)
}

// evaluatorNames returns the names of the evaluators that gave a verdict in any trial, in the playbook's order.
func evaluatorNames(trials []result.Unit) []string {
	var names []string
	for _, u := range trials {
		for _, e := range u.Evaluations {
			if !slices.Contains(names, e.Name) {
				names = append(names, e.Name)
			}
		}
	}
	return names
}

// verdict is what the trials of one case under one variant come to.
type verdict struct {
	*harness
	id     string // playbook/case/variant
	trials []result.Unit
	need   int
}

func (v verdict) attributes(t *testing.T) {
	first := v.trials[0]
	t.Attr("unit", v.id)
	t.Attr("mode", string(v.mode))
	if first.Session != "" {
		t.Attr("session", first.Session)
	}
	if first.Endpoint != "" {
		t.Attr("endpoint", first.Endpoint)
	}
	sum, n := 0.0, 0
	for _, u := range v.trials {
		if score := u.Score(); score != nil {
			sum, n = sum+*score, n+1
		}
	}
	if n > 0 {
		t.Attr("score", formatScore(sum/float64(n)))
	}
}

// evaluator reports one evaluator over all trials.
func (v verdict) evaluator(t *testing.T, name string) {
	t.Helper()
	passed, skipped, broken, reported := 0, 0, 0, 0
	var rows []trialEvaluation
	for i, u := range v.trials {
		j := slices.IndexFunc(u.Evaluations, func(e result.Evaluation) bool { return e.Name == name })
		if j < 0 {
			continue
		}
		e := u.Evaluations[j]
		rows = append(rows, trialEvaluation{trial: i + 1, session: sessionText(u), Evaluation: e})
		switch e.Outcome {
		case result.Pass:
			passed++
		case result.Skip:
			skipped++
		case result.Error:
			broken++
		case result.Reported:
			reported++
		}
	}
	if score, ok := meanScore(rows); ok {
		t.Attr("score", formatScore(score))
	}
	switch {
	case broken > 0:
		t.Attr("outcome", string(result.Error))
		t.Error(v.evaluatorText(t, name, "ERROR", rows))
	case skipped == len(rows):
		t.Attr("outcome", string(result.Skip))
		t.Skip(rows[0].Reason)
	case reported > 0:
		t.Attr("outcome", string(result.Reported))
		t.Log(v.evaluatorText(t, name, "REPORTED", rows))
	case passed < v.need && passed+len(v.trials)-len(rows) >= v.need:
		t.Attr("outcome", string(result.Error))
		t.Error(v.evaluatorText(t, name, fmt.Sprintf("ERROR judged %d of %d trials, %d passed, need %d",
			len(rows), len(v.trials), passed, v.need), rows))
	case passed < v.need:
		t.Attr("outcome", string(result.Fail))
		t.Error(v.evaluatorText(t, name, "FAIL"+v.fraction(passed), rows))
	default:
		t.Attr("outcome", string(result.Pass))
		if text := v.passedText(name, passed, rows); text != "" {
			t.Log(text)
		}
	}
}

// whole reports what the evaluators' subtests do not: errors, failed steps, and too few trials that passed as a whole.
func (v verdict) whole(t *testing.T) {
	t.Helper()
	passed, skipped := 0, 0
	var broken, failed []string
	for i, u := range v.trials {
		for _, w := range u.Warnings {
			t.Logf("%s: warning: %s", u.ID, w)
			t.Attr("warning", "see the log")
		}
		for n, why := range u.Attempts {
			t.Logf("%s: attempt %d: %s", u.ID, n+1, why)
			t.Attr("attempts", strconv.Itoa(len(u.Attempts)+1))
		}
		switch u.Outcome {
		case result.Pass:
			passed++
		case result.Skip:
			skipped++
		case result.Error:
			broken = append(broken, v.trialText(i))
		default:
			failed = append(failed, v.trialText(i))
		}
	}
	switch {
	case len(broken) > 0:
		t.Attr("outcome", string(result.Error))
		t.Errorf("%s: ERROR\n%s\n%s", v.id, strings.Join(broken, "\n"), v.reproduce(t))
	case skipped == len(v.trials):
		t.Attr("outcome", string(result.Skip))
		t.Skip(cmp.Or(v.trials[0].Reason, "nothing was judged: all evaluators were skipped"))
	case passed < v.need:
		t.Attr("outcome", string(result.Fail))
		t.Errorf("%s: FAIL%s\n%s\n%s", v.id, v.fraction(passed), strings.Join(failed, "\n"), v.reproduce(t))
	default:
		t.Attr("outcome", string(result.Pass))
		t.Log(v.passText(passed))
	}
}

func (v verdict) fraction(passed int) string {
	if len(v.trials) == 1 {
		return ""
	}
	return fmt.Sprintf(" %d/%d trials, need %d", passed, len(v.trials), v.need)
}

func meanScore(rows []trialEvaluation) (float64, bool) {
	sum, n := 0.0, 0
	for _, r := range rows {
		if r.Score != nil {
			sum += *r.Score
			n++
		}
	}
	return sum / float64(max(n, 1)), n > 0
}

func formatScore(f float64) string { return strconv.FormatFloat(f, 'g', 4, 64) }

package evaltest

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
)

// variant reports the trials of one case under one variant: each evaluator as a subtest over all trials,
// then what only the trials as wholes tell.
func (h *harness) variant(t *testing.T, run *running, units []plan.Unit) {
	t.Helper()
	trials := make([]result.Unit, len(units))
	did := make([]string, len(units))
	for i, u := range units {
		trials[i], did[i] = run.unit(t, u)
	}
	v := verdict{
		harness: h, id: path.Dir(trials[0].ID), did: did[0], Trials: result.JudgeTrials(trials, run.rule),
	}
	if h.held != nil {
		h.held.units = append(h.held.units, v.Units...)
	}
	v.attributes(t)
	for _, e := range v.Evaluators {
		if e.Outcome == result.Reported || v.Reference && e.Outcome != result.Error ||
			e.Outcome == result.Fail && h.held.knows(v.Units[0]) {
			v.reported(t, e)
			continue
		}
		t.Run(door.Name(e.Name), func(t *testing.T) {
			t.Helper()
			v.evaluator(t, e)
		})
	}
	v.whole(t)
}

// verdict is the result of all trials of one case under one variant.
type verdict struct {
	*harness
	id  string // playbook/case/variant
	did string // how much the agent did in the first trial
	result.Trials
}

func (v verdict) attributes(t *testing.T) {
	first := v.Units[0]
	door.Of(t).Attr("unit", v.id)
	door.Of(t).Attr("mode", string(v.mode()))
	if first.Session != "" {
		door.Of(t).Attr("session", first.Session)
	}
	if first.Endpoint != "" {
		door.Of(t).Attr("endpoint", first.Endpoint)
	}
	if stops := v.Stops(); stops != "" {
		door.Of(t).Attr("stop", stops)
	}
	if v.Score != nil {
		door.Of(t).Attr("score", result.FormatScore(*v.Score))
	}
	if v.Reference {
		door.Of(t).Attr("reference", "decides nothing")
	}
}

// evaluator reports one evaluator over all trials.
func (v verdict) evaluator(t *testing.T, e result.Evaluator) {
	t.Helper()
	if e.Score != nil {
		door.Of(t).Attr("score", result.FormatScore(*e.Score))
	}
	door.Of(t).Attr("outcome", string(e.Outcome))
	switch e.Outcome {
	case result.Pass:
		if text := v.passedText(e); text != "" {
			door.Of(t).Log(text)
		}
	case result.Skip:
		if v.suite != nil { // what the evals of a skill ask for is judged, or the skill is not known to be good
			door.Of(t).Fatalf("ERROR\nnot all checks were judged: %s", e.Verdicts[0].Reason)
		}
		door.Of(t).Skip(e.Verdicts[0].Reason)
	case result.Fail:
		door.Of(t).Error(v.evaluatorText(t, e, "FAIL"+v.fraction(e.Count)) + v.asWritten(e.Name))
	default:
		door.Of(t).Error(v.evaluatorText(t, e, strings.TrimSpace("ERROR "+e.Reason)))
	}
}

// reported tells the score of an evaluator that decides nothing, or what it says of a reference. It gets no subtest:
// that would count as a test that passed, whatever the score.
func (v verdict) reported(t *testing.T, e result.Evaluator) {
	t.Helper()
	says, score, decides := "REPORTED", "", ""
	if e.Score != nil {
		score = " " + result.FormatScore(*e.Score)
	}
	switch {
	case e.Outcome == result.Reported:
		says += score
	case e.Outcome == result.Fail && v.held.knows(v.Units[0]):
		says, decides = "FAIL"+v.fraction(e.Count), ", over which the baseline decides"
	default:
		says = "REFERENCE " + strings.ToUpper(string(e.Outcome)) + v.fraction(e.Count)
	}
	door.Of(t).Attr("reported", e.Name+score)
	door.Of(t).Logf("%s/%s: %s%s%s", v.id, e.Name, says, decides, v.found(e, result.Pass, result.Skip))
}

// whole reports what the evaluators' subtests do not: errors, failed steps, and too few trials that passed as a whole.
func (v verdict) whole(t *testing.T) {
	t.Helper()
	var bad []string
	for i, u := range v.Units {
		for _, w := range u.Warnings {
			door.Of(t).Logf("%s: warning: %s", u.ID, w)
			door.Of(t).Attr("warning", "see the log")
		}
		for n, why := range u.Attempts {
			door.Of(t).Logf("%s: attempt %d: %s", u.ID, n+1, why)
			door.Of(t).Attr("attempts", strconv.Itoa(len(u.Attempts)+1))
		}
		if v.Whole.Bad() && u.Outcome == v.Whole {
			bad = append(bad, v.trialText(i))
		}
	}
	door.Of(t).Attr("outcome", string(v.Whole))
	if v.Counts() == result.Reported {
		if len(bad) > 0 {
			bad = append(bad, v.reproduce(t))
		}
		head := fmt.Sprintf("%s: REFERENCE %s%s: it is there to be compared with, and decides nothing", v.id,
			strings.ToUpper(string(v.Outcome)), v.fraction(v.Count))
		door.Of(t).Log(strings.Join(append([]string{head}, bad...), "\n"))
		return
	}
	switch v.Whole {
	case result.Pass:
		door.Of(t).Log(v.passText())
	case result.Skip:
		door.Of(t).Skip(cmp.Or(v.Units[0].Reason, "nothing was judged: all evaluators were skipped"))
	case result.Fail:
		if v.held.knows(v.Units[0]) {
			door.Of(t).Logf("%s: FAIL%s, over which the baseline decides\n%s", v.id, v.fraction(v.Count),
				strings.Join(bad, "\n"))
			return
		}
		door.Of(t).Errorf("%s: FAIL%s\n%s\n%s", v.id, v.fraction(v.Count), strings.Join(bad, "\n"), v.reproduce(t))
	case result.Error:
		door.Of(t).Errorf("%s: ERROR\n%s\n%s", v.id, strings.Join(bad, "\n"), v.reproduce(t))
	default: // there is nothing that is completed or not run in a test, and if there were it would not have passed
		door.Of(t).Errorf("%s: ERROR %s\n%s", v.id, v.Whole, v.reproduce(t))
	}
}

// fraction tells how many trials passed, if there are several.
func (v verdict) fraction(c result.Count) string {
	if len(v.Units) == 1 && v.Rule.Score == 0 {
		return ""
	}
	return fmt.Sprintf(" %d/%d trials, %v", c[result.Pass], len(v.Units), v.Rule)
}

// skips counts the subtests of a test, so that one in which nothing was decided is skipped itself: its subtests were
// all skipped, or of references. A test that passes would say that something was.
type skips struct{ skipped, references, others int }

// run runs f as a subtest.
func (s *skips) run(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	s.runAs(t, name, &s.others, f)
}

// runAs is run that counts a subtest which is not skipped as what it is.
func (s *skips) runAs(t *testing.T, name string, counts *int, f func(*testing.T)) {
	t.Helper()
	t.Run(door.Name(name), func(t *testing.T) {
		t.Helper()
		defer func() {
			if t.Skipped() {
				s.skipped++
			} else {
				*counts++
			}
		}()
		f(t)
	})
}

// judge skips the test, and so ends it, if nothing was decided.
func (s *skips) judge(t *testing.T) {
	t.Helper()
	why := "nothing was judged: all of it was skipped"
	if s.references > 0 {
		why = "nothing was decided: only variants ran that are a reference"
	}
	if s.skipped+s.references > 0 && s.others == 0 {
		door.Of(t).Attr("outcome", string(result.Skip))
		door.Of(t).Skip(why)
	}
}

// skip ends the test: as one that was skipped, or, in CI, as an error. Nobody reads what CI skips.
func skip(t *testing.T, reason string) {
	t.Helper()
	if testrun.InCI(os.Getenv) {
		door.Of(t).Attr("outcome", string(result.Error))
		door.Of(t).Fatalf("ERROR\n%s; CI is set, so this is an error and not a skip", reason)
	}
	door.Of(t).Attr("outcome", string(result.Skip))
	door.Of(t).Skip(reason)
}

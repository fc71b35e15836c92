package report

import (
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// Result is the result of all trials of one case under one variant.
type Result struct {
	Case    string `json:"case"`
	Variant string `json:"variant"`
	// Outcome is the verdict of [result.JudgeTrials].
	Outcome result.Outcome `json:"outcome"`
	Passed  int            `json:"passed"` // trials
	Trials  int            `json:"trials"`
	Need    int            `json:"need"`
	NotRun  int            `json:"not_run"`
	// Score is the mean of the trials' scores, nil if none has one.
	Score *float64 `json:"score"`
	// Findings are why trials did not pass, apart from what the checks say.
	Findings []Finding `json:"findings,omitempty"`
	// Checks are the evaluators over all trials, in the playbook's order.
	Checks []Check `json:"checks,omitempty"`

	// whole is the result of the trials, leaving out the checks.
	whole result.Outcome
}

// Check is one evaluator over all trials of a case under a variant.
type Check struct {
	Name    string         `json:"name"`
	Type    string         `json:"type"`
	Outcome result.Outcome `json:"outcome"`
	Passed  int            `json:"passed"`
	Judged  int            `json:"judged"` // trials in which it gave a verdict
	Score   *float64       `json:"score"`
	// Findings are its verdicts that are no pass.
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is why one trial did not pass.
type Finding struct {
	Trial    int            `json:"trial"`
	Outcome  result.Outcome `json:"outcome"`
	Position string         `json:"position,omitempty"` // of the evaluator or step in the playbook, file:line
	Reason   string         `json:"reason"`
	Detail   string         `json:"detail,omitempty"`
}

// resultOf renders the result of all trials of one case under one variant.
func resultOf(t result.Trials) Result {
	r := Result{
		Case: t.Units[0].Case, Variant: t.Units[0].Variant, Outcome: t.Outcome, Passed: t.Count[result.Pass], Trials: len(t.Units),
		Need: t.Need, NotRun: t.Count[result.NotRun], Score: t.Score, whole: t.Whole,
	}
	for _, u := range t.Units {
		r.Findings = append(r.Findings, findings(u)...)
	}
	for _, e := range t.Evaluators {
		r.Checks = append(r.Checks, checkOf(e))
	}
	return r
}

func checkOf(e result.Evaluator) Check {
	c := Check{
		Name: e.Name, Type: e.Type, Outcome: e.Outcome, Passed: e.Count[result.Pass], Judged: len(e.Verdicts), Score: e.Score,
	}
	if e.Reason != "" {
		c.Findings = append(c.Findings, Finding{Outcome: e.Outcome, Reason: e.Reason})
	}
	for _, v := range e.Verdicts {
		if v.Outcome != result.Pass {
			c.Findings = append(c.Findings, Finding{
				Trial: v.Unit.Trial, Outcome: v.Outcome, Position: v.Position, Reason: v.Reason, Detail: v.Detail,
			})
		}
	}
	return c
}

// findings returns why a unit did not pass, apart from its evaluators' verdicts: steps and what else ended it.
func findings(r result.Unit) []Finding {
	if r.Outcome == result.Pass || r.Outcome == result.Completed {
		return nil
	}
	var list []Finding
	told := r.Reason == ""
	for _, s := range r.Steps {
		if s.Outcome != result.Fail && s.Outcome != result.Error {
			continue
		}
		list = append(list, Finding{
			Trial: r.Trial, Outcome: s.Outcome, Position: s.Position,
			Reason: fmt.Sprintf("step %q: %s", s.Name, s.Reason), Detail: s.Output,
		})
		told = told || s.Reason == r.Reason
	}
	if !told {
		f := Finding{Trial: r.Trial, Outcome: r.Outcome, Reason: r.Reason}
		if r.Next != "" {
			f.Detail = "next: " + r.Next
		}
		list = append(list, f)
	}
	return list
}

// findings returns what is wrong with the run as a whole.
func (r Run) findings() []Finding {
	var list []Finding
	for _, p := range r.Problems {
		list = append(list, Finding{Outcome: result.Error, Reason: p})
	}
	if r.State != string(rundir.StateFinished) {
		list = append(list, Finding{Outcome: result.NotRun, Reason: "the run is not finished: " + r.State})
	}
	return list
}

// headline says how the results and jobs of a run ended.
func headline(rep *Report, results, jobs Counts) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s × %s): %s.", plural(len(rep.Results), "result"), plural(len(rep.Cases), "case"),
		plural(len(rep.Variants), "variant"), results)
	jobs.Pass, jobs.Completed = jobs.Pass+jobs.Completed, 0 // nobody judges jobs
	if jobs.sum() > jobs.Pass {
		fmt.Fprintf(&b, " %s outside the matrix: %s.", plural(jobs.sum(), "job"), jobs)
	}
	if rep.Run.State != string(rundir.StateFinished) {
		fmt.Fprintf(&b, " The run is not finished: %s.", rep.Run.State)
	}
	if n := len(rep.Run.Problems); n > 0 {
		fmt.Fprintf(&b, " The run as a whole has %s.", plural(n, "problem"))
	}
	return b.String()
}

// plural counts things whose plural ends in s.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", thousands(int64(n)), what)
}

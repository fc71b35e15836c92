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
	// Reference says that the variant is there to be compared with: what it fails decides nothing.
	Reference bool `json:"reference,omitempty"`
	// Outcome is the outcome of the trials, as judged by [result.JudgeTrials].
	Outcome result.Outcome `json:"outcome"`
	Passed  int            `json:"passed"` // trials
	Trials  int            `json:"trials"`
	Need    int            `json:"need"`
	NotRun  int            `json:"not_run"`
	// Score is the mean of the trials' scores, or nil if none has one.
	Score *float64 `json:"score"`
	// Stops says why the trials' sessions ended, as [result.Trials.Stops] does.
	Stops string `json:"stops,omitempty"`
	// Findings say why trials did not pass, apart from the findings of the checks.
	Findings []Finding `json:"findings,omitempty"`
	// Checks has the evaluators over all trials, in the playbook's order.
	Checks []Check `json:"checks,omitempty"`

	// whole is the outcome of the trials without the checks.
	whole result.Outcome
	rule  result.Rule
}

// Check is one evaluator over all trials of a case under a variant.
type Check struct {
	Name    string         `json:"name"`
	Type    string         `json:"type"`
	Outcome result.Outcome `json:"outcome"`
	Passed  int            `json:"passed"`
	Judged  int            `json:"judged"` // trials in which it gave a verdict
	Score   *float64       `json:"score"`
	// Findings has its verdicts other than pass.
	Findings []Finding `json:"findings,omitempty"`
}

// Finding is why one trial did not pass.
type Finding struct {
	Trial    int            `json:"trial"`
	Outcome  result.Outcome `json:"outcome"`
	Position string         `json:"position,omitempty"` // of the evaluator or step in the playbook, file:line
	Reason   string         `json:"reason"`
	Detail   string         `json:"detail,omitempty"`

	unmet []string // checks that do not hold, besides what the reason says
}

// resultOf renders the result of all trials of one case under one variant.
func resultOf(t result.Trials) Result {
	r := Result{
		Case: t.Units[0].Case, Variant: t.Units[0].Variant, Reference: t.Reference, Outcome: t.Outcome,
		Passed: t.Count[result.Pass], Trials: len(t.Units), Need: t.Need, NotRun: t.Count[result.NotRun],
		Score: t.Score, whole: t.Whole, rule: t.Rule, Stops: t.Stops(),
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
		Name: e.Name, Type: e.Type, Outcome: e.Outcome, Passed: e.Count[result.Pass], Judged: len(e.Verdicts),
		Score: e.Score,
	}
	if e.Reason != "" {
		c.Findings = append(c.Findings, Finding{Outcome: e.Outcome, Reason: e.Reason})
	}
	for _, v := range e.Verdicts {
		if v.Outcome != result.Pass {
			c.Findings = append(c.Findings, Finding{
				Trial: v.Unit.Trial, Outcome: v.Outcome, Position: v.Position, Reason: v.Reason, Detail: v.Detail,
				unmet: v.Unmet(shownChecks),
			})
		}
	}
	return c
}

// findings returns why a unit did not pass, apart from its evaluators' verdicts: its failed steps, and its own reason.
func findings(r result.Unit) []Finding {
	if r.Outcome == result.Pass || r.Outcome == result.Completed {
		return nil
	}
	var list []Finding
	reported := r.Reason == ""
	for _, s := range r.Steps {
		if s.Outcome != result.Fail && s.Outcome != result.Error {
			continue
		}
		list = append(list, Finding{
			Trial: r.Trial, Outcome: s.Outcome, Position: s.Position,
			Reason: fmt.Sprintf("step %q: %s", s.Name, s.Reason), Detail: s.Output,
		})
		reported = reported || s.Reason == r.Reason
	}
	if !reported {
		f := Finding{Trial: r.Trial, Outcome: r.Outcome, Reason: r.Reason}
		if r.Next != "" {
			f.Detail = "next: " + r.Next
		}
		list = append(list, f)
	}
	return list
}

// findings returns the problems of the run as a whole.
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
func headline(rep *Report, results, references, jobs Counts) string {
	var b strings.Builder
	if s := rep.Run.Selection; s != nil {
		b.WriteString(s.text + ": ")
	}
	fmt.Fprintf(&b, "%s (%s × %s): %s.", plural(len(rep.Results), "result"), plural(len(rep.Cases), "case"),
		plural(len(rep.Variants), "variant"), results)
	if references.sum() > 0 {
		fmt.Fprintf(&b, " Of references, which decide nothing: %s.", references)
	}
	jobs.Pass, jobs.Completed = jobs.Pass+jobs.Completed, 0 // jobs are never judged
	if jobs.sum() > jobs.Pass {
		fmt.Fprintf(&b, " %s outside the matrix: %s.", plural(jobs.sum(), "job"), jobs)
	}
	if n := rep.notAsked(); n > 0 {
		fmt.Fprintf(&b, " Not asked: %s, see the notes.", plural(n, "judge"))
	}
	if rep.Run.State != string(rundir.StateFinished) {
		fmt.Fprintf(&b, " The run is not finished: %s.", rep.Run.State)
	}
	if n := len(rep.Run.Problems); n > 0 {
		fmt.Fprintf(&b, " The run as a whole has %s.", plural(n, "problem"))
	}
	return b.String()
}

// notAsked counts the evaluators that units lack, since they were skipped although the agent ran.
func (rep *Report) notAsked() int {
	n := 0
	for _, u := range rep.Units {
		if u.Result != nil {
			n += u.Result.NotAsked()
		}
	}
	return n
}

// plural returns a number of things whose plural ends in s.
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%s %ss", thousands(int64(n)), what)
}

// flaw is something that did not pass: a case under a variant as a whole, one of its evaluators, or a job.
type flaw struct {
	outcome result.Outcome
	of      Result // the result; for a job one with a single trial and no case
	check   string // the evaluator's name
	job     string
	passed  int // the number of trials that passed
	// findings say why. There are none if too few trials passed and nothing else is known.
	findings []Finding
}

// decidesNothing reports whether it is a failure of a variant that is there to be compared with.
func (f flaw) decidesNothing() bool { return f.of.Reference && f.outcome == result.Fail }

// label returns its outcome as people see it.
func (f flaw) label() string {
	if f.decidesNothing() {
		return "➖ failed" + reference
	}
	return label(f.outcome)
}

// flaws returns everything that did not pass, in the report's order.
func (rep *Report) flaws() []flaw {
	var list []flaw
	for _, r := range rep.Results {
		if r.Outcome.Bad() {
			list = append(list, r.flaws()...)
		}
	}
	for _, j := range rep.Jobs {
		if j.Outcome != result.Pass && j.Outcome != result.Completed {
			list = append(list, flaw{outcome: j.Outcome, of: Result{Trials: 1}, job: j.ID, findings: jobFindings(j)})
		}
	}
	return list
}

// flaws returns what did not pass in a result.
func (r Result) flaws() []flaw {
	var list []flaw
	if len(r.Findings) > 0 || r.Outcome == result.NotRun {
		list = append(list, flaw{outcome: r.whole, of: r, passed: r.Passed, findings: r.Findings})
	}
	for _, c := range r.Checks {
		if c.Outcome == result.Fail || c.Outcome == result.Error {
			list = append(list, flaw{outcome: c.Outcome, of: r, check: c.Name, passed: c.Passed, findings: c.Findings})
		}
	}
	if list == nil {
		list = append(list, flaw{outcome: r.Outcome, of: r, passed: r.Passed})
	}
	return list
}

// position returns the first position among the worst findings, or "" if they have none.
func position(list []Finding) string {
	for _, f := range bad(list) {
		if f.Position != "" {
			return f.Position
		}
	}
	return ""
}

// Counts has the number of things of each outcome.
type Counts struct {
	Pass      int `json:"pass"`
	Fail      int `json:"fail"`
	Error     int `json:"error"`
	Skip      int `json:"skip"`
	Completed int `json:"completed"`
	NotRun    int `json:"not_run"`
	// Reported counts verdicts that are only reported. No unit has this outcome.
	Reported int `json:"reported,omitempty"`
}

func (c *Counts) of(o result.Outcome) *int {
	switch o {
	case result.Pass:
		return &c.Pass
	case result.Fail:
		return &c.Fail
	case result.Skip:
		return &c.Skip
	case result.Completed:
		return &c.Completed
	case result.NotRun:
		return &c.NotRun
	case result.Reported:
		return &c.Reported
	default: // an unknown outcome must not look green
		return &c.Error
	}
}

func (c *Counts) add(o result.Outcome) { *c.of(o)++ }

func (c Counts) sum() int {
	return c.Pass + c.Fail + c.Error + c.Skip + c.Completed + c.NotRun + c.Reported
}

// String lists the counts that are not zero: "3 passed, 1 failed".
func (c Counts) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		what string
	}{
		{c.Pass, "passed"},
		{c.Completed, "completed (not judged)"},
		{c.Fail, "failed"},
		{c.Error, "ended in error"},
		{c.Skip, "skipped"},
		{c.NotRun, "not run"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%s %s", thousands(int64(p.n)), p.what))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

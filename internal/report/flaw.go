package report

import "github.com/sdd-eval/sdd-eval/internal/result"

// flaw is something that did not pass: a case under a variant as a whole, one of its evaluators, or a job.
type flaw struct {
	outcome result.Outcome
	of      Result // of a job: one trial of no case
	check   string // the evaluator's name
	job     string
	passed  int // trials
	// findings are why, if there is more to say than that too few trials passed.
	findings []Finding
}

// flaws returns all that did not pass, in the report's order.
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

// flaws returns why a result that did not pass did not.
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

// position returns where the first of the worst findings with a place has it, else nothing.
func position(list []Finding) string {
	for _, f := range bad(list) {
		if f.Position != "" {
			return f.Position
		}
	}
	return ""
}

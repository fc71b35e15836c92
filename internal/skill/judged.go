package skill

import "github.com/sdd-eval/sdd-eval/internal/result"

// Judged returns what the evaluations of a unit say of a check of its case; false: nothing is known.
func Judged(k Check, all []result.Evaluation) (result.Check, bool) {
	for _, e := range all {
		for _, c := range e.Checks {
			if c.ID == k.ID && (e.Name == textChecks || e.Name == modelChecks) {
				return c, true
			}
		}
		if e.Name == callChecks+k.ID && (e.Outcome == result.Pass || e.Outcome == result.Fail) {
			return result.Check{ID: k.ID, Text: k.Text, Outcome: e.Outcome, Evidence: e.Reason}, true
		}
	}
	return result.Check{}, false
}

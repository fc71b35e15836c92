package result

import "cmp"

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

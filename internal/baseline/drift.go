package baseline

import (
	"cmp"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Drift is how a run differs from a baseline.
type Drift struct {
	// Kept is how many checks came out as in the baseline, of sessions that must: those that the baseline is of, and
	// replays under the skill that it is of.
	Kept int
	// Changes are those of such sessions that came out otherwise.
	Changes []Change
	// Others is the arm that decides in cases whose sessions may come out otherwise: the skill is another one, or the
	// sessions are.
	Others compare.Arms
	// Unknown are the cases of that arm of which the baseline knows nothing, with what differs.
	Unknown []compare.Incomparable
	// Gone are the cases of that arm that only the baseline has.
	Gone []string
}

// Change is a check that came out otherwise than in the baseline.
type Change struct {
	Case, Variant string
	Trial         int // from 1
	// Check says what must hold; empty: the trial as a whole.
	Check string
	// Was and Now are empty where the check is not there.
	Was, Now result.Outcome
}

// Drift returns how a run differs from the baseline. Variant is the arm that decides; of the others, which are
// references, only the sessions that the baseline is of count.
func (b *Baseline) Drift(now *Baseline, variant string) Drift {
	var d Drift
	for _, v := range now.Variants {
		was, _ := b.variant(v.ID)
		same := slices.Equal(was.Skills, v.Skills)
		before := make(map[string]compare.Case)
		for _, c := range was.Cases {
			before[c.ID] = c
		}
		var base, head []compare.Case
		for _, c := range v.Cases {
			old, known := before[c.ID]
			delete(before, c.ID)
			why := []string{"it is not in the baseline"}
			if known {
				why = old.Differences(c)
			}
			switch {
			case why != nil:
				if v.ID == variant {
					d.Unknown = append(d.Unknown, compare.Incomparable{Case: c.ID, Why: why})
				}
			case same && (sameSessions(old, c) || v.ID == variant && now.Mode == "replay"):
				d.change(v.ID, old, c)
			default:
				base, head = append(base, old), append(head, c)
			}
		}
		if v.ID != variant {
			continue
		}
		d.Others.Base, d.Others.Head = compare.Arm{Name: "baseline", Cases: base}, compare.Arm{Name: "now", Cases: head}
		for _, c := range was.Cases {
			if _, ok := before[c.ID]; ok && now.Selected == "" {
				d.Gone = append(d.Gone, c.ID)
			}
		}
	}
	return d
}

func (b *Baseline) variant(id string) (Variant, bool) {
	for _, v := range b.Variants {
		if v.ID == id {
			return v, true
		}
	}
	return Variant{}, false
}

// sameSessions reports whether the trials of a case are of the same sessions.
func sameSessions(a, b compare.Case) bool {
	return slices.EqualFunc(a.Trials, b.Trials, func(a, b compare.Trial) bool {
		return a.Session == b.Session && a.Session != ""
	})
}

// change compares the checks of a case, trial by trial. A trial that is only in one of both has none in the other.
func (d *Drift) change(variant string, was, now compare.Case) {
	for i := range max(len(was.Trials), len(now.Trials)) {
		var a, b compare.Trial
		if i < len(was.Trials) {
			a = was.Trials[i]
		}
		if i < len(now.Trials) {
			b = now.Trials[i]
		}
		before, after := outcomes(a), outcomes(b)
		changes := len(d.Changes)
		for _, o := range after {
			j := slices.IndexFunc(before, func(x checkOutcome) bool { return x.key == o.key })
			old := checkOutcome{}
			if j >= 0 {
				old = before[j]
				before = slices.Delete(before, j, j+1)
			}
			if old.outcome == o.outcome {
				d.Kept++
				continue
			}
			d.Changes = append(d.Changes, Change{now.ID, variant, i + 1, o.text, old.outcome, o.outcome})
		}
		for _, o := range before {
			d.Changes = append(d.Changes, Change{now.ID, variant, i + 1, o.text, o.outcome, ""})
		}
		if a.Outcome != b.Outcome && len(d.Changes) == changes {
			d.Changes = append(d.Changes, Change{now.ID, variant, i + 1, "", a.Outcome, b.Outcome})
		}
	}
}

// checkOutcome is how a check, or an evaluator that has none, ended.
type checkOutcome struct {
	key     [2]string
	text    string
	outcome result.Outcome
}

func outcomes(t compare.Trial) (all []checkOutcome) {
	checked := make(map[string]bool)
	for _, c := range t.Checks {
		checked[c.Evaluator] = true
		all = append(all, checkOutcome{[2]string{c.Evaluator, c.ID}, cmp.Or(c.Text, c.ID), c.Outcome})
	}
	var rest []checkOutcome
	for name, o := range t.Evaluators {
		if !checked[name] {
			rest = append(rest, checkOutcome{[2]string{name, name}, name, o})
		}
	}
	slices.SortFunc(rest, func(a, b checkOutcome) int { return cmp.Compare(a.text, b.text) })
	return append(all, rest...)
}

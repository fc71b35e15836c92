package baseline

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// The numbers by which rulings rank, which are exit codes of `sdd-eval compare`, too.
const (
	lost    = 1
	nothing = 3 // is known
	open    = 4
)

// Ruling says whether a run in which nothing ended in an error is as its baseline wants it.
type Ruling struct {
	// Exit is the exit code, 0 if all is well, and Why it is not that.
	Exit int
	Why  error
	// Lines tell people how the run differs from the baseline.
	Lines []string
}

// Rule holds a run to the baseline, which is called by a name: what replays the same must come out the same, and the
// gate decides over the rest. Variant is the arm that decides, and failed are its cases that did not pass, as the
// baseline calls them: one that the baseline does not know has to.
func (b *Baseline) Rule(called string, now *Baseline, variant string, failed []string, gate compare.Gate) Ruling {
	drift := b.Drift(now, variant)
	rule := compare.Rule{Scope: compare.Suite, Alpha: .05, Margin: .05}
	var compared []*compare.Comparison
	if len(drift.Others.Head.Cases) > 0 {
		compared = rule.CompareAll([]compare.Arms{drift.Others})
	}
	r := Ruling{Exit: gate.Exit(compared), Lines: b.lines(called, drift, compared)}
	failing := 0
	for _, id := range failed {
		if slices.ContainsFunc(drift.Unknown, func(x compare.Incomparable) bool { return x.Case == id }) {
			failing++
		}
	}
	why := ""
	switch {
	case r.Exit == nothing:
		why = "nothing can be said of the difference to the baseline"
	case gate == compare.GateNone:
		r.Exit = 0
	case len(drift.Changes) > 0:
		r.Exit, why = lost, compare.Counted(len(drift.Changes), "check")+" did not come out as in the baseline"
	case failing > 0:
		r.Exit, why = lost, compare.Counted(failing, "case")+" that the baseline does not know did not pass"
	case len(drift.Gone) > 0:
		r.Exit, why = lost, compare.Counted(len(drift.Gone), "case")+" of the baseline did not run"
	case r.Exit != 0:
		why = "the gate " + string(gate) + " is not passed"
	case unclear(compared):
		r.Exit = open
		why = "checks pass less often than in the baseline, and whether that is chance is not known"
	}
	if r.Exit != 0 {
		r.Why = errors.New(why)
	}
	return r
}

// unclear reports whether checks are lost with a skill of which nobody knows whether it does worse.
func unclear(compared []*compare.Comparison) bool {
	return slices.ContainsFunc(compared, func(c *compare.Comparison) bool {
		return c.Verdict == compare.Inconclusive && len(lostChecks(c)) > 0
	})
}

// lostChecks are the checks that pass less often than in the baseline.
func lostChecks(c *compare.Comparison) []compare.CheckFlip {
	if c.Checks == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(c.Checks.Flips), func(f compare.CheckFlip) bool { return f.Head >= f.Base })
}

const (
	maxDrift     = 20 // checks of a kind that are listed
	maxDriftText = 160
)

// lines says how a run differs from the baseline.
func (b *Baseline) lines(called string, d Drift, compared []*compare.Comparison) (lines []string) {
	line := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	list := func(n int, show func(i int) string) {
		for i := range min(n, maxDrift) {
			line("  %s", show(i))
		}
		if n > maxDrift {
			line("  and %d more", n-maxDrift)
		}
	}
	line("baseline   %s of %s: %s as before", called, b.CreatedAt.Format("2006-01-02"),
		compare.Counted(d.Kept, "check"))
	if n := len(d.Changes); n > 0 {
		line("%s of the same skill came out otherwise:", compare.Counted(n, "check"))
		list(n, func(i int) string {
			c := d.Changes[i]
			what := excerpt.Line(c.Check, maxDriftText)
			if what == "" {
				what = "the trial as a whole"
			}
			return fmt.Sprintf("%s, %s, trial %d: %s: was %s, is %s", c.Case, c.Variant, c.Trial, what, wordOf(c.Was),
				wordOf(c.Now))
		})
	}
	for _, c := range compared {
		line("with the skill as it is, compared with the baseline, in %s: %s", compare.Counted(c.Pairs, "case"),
			c.Headline())
		for _, why := range c.Why {
			line("  %s", why)
		}
		if lost := lostChecks(c); len(lost) > 0 {
			line("checks that pass less often than in the baseline:")
			list(len(lost), func(i int) string {
				return lost[i].Case + ": " + excerpt.Line(lost[i].Text, maxDriftText)
			})
		}
	}
	if n := len(d.Unknown); n > 0 {
		line("%s that the baseline does not know:", compare.Counted(n, "case"))
		list(n, func(i int) string { return d.Unknown[i].Case + ": " + strings.Join(d.Unknown[i].Why, ", ") })
	}
	if n := len(d.Gone); n > 0 {
		line("%s only in the baseline:", compare.Counted(n, "case"))
		list(n, func(i int) string { return d.Gone[i] })
	}
	return lines
}

// wordOf names an outcome that may be missing.
func wordOf(o result.Outcome) string {
	if o == "" {
		return "not there"
	}
	return string(o)
}

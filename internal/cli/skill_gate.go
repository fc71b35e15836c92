package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/baseline"
	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/skill"
)

// checkGate returns an error for a gate without the baseline that it compares with.
func (a *App) checkGate(o skillOptions, s *skill.Suite) error {
	if o.gate == "" {
		return nil
	}
	if _, err := os.Lstat(s.File(s.Baseline())); err != nil {
		return usageError("skill: --gate compares with %s, which is not there", a.shown(s.File(s.Baseline()))).
			hint(o.line("--bless"))
	}
	return nil
}

// gateSkill returns the error of a run in which nothing ended in an error, by the baseline if there is one, and writes
// that if it is to be blessed.
func (a *App) gateSkill(r *skillRun, done engine.Finished) error {
	front, file := *r.options.front, r.suite.File(r.suite.Baseline())
	err := verdict(done.Verdict, done.ID, r.options.root)
	if err != nil && done.Verdict.Outcome != result.Fail {
		return err
	}
	now, readErr := a.find(r.suite.Root).Run(done.ID)
	if readErr != nil {
		return readErr
	}
	if front.bless {
		return a.blessSkill(r, now)
	}
	was, readErr := baseline.Read(file)
	if errors.Is(readErr, fs.ErrNotExist) {
		return err
	} else if readErr != nil {
		return &exitError{code: exitHarness, err: readErr, next: front.line("--bless")}
	}
	drift := was.Drift(now, skill.With)
	rule := compare.Rule{Scope: compare.Suite, Alpha: planAlpha, Margin: planAlpha}
	var compared []*compare.Comparison
	if len(drift.Others.Head.Cases) > 0 {
		compared = rule.CompareAll([]compare.Arms{drift.Others})
	}
	a.tellDrift(a.shown(file), was, drift, compared)
	gate := compare.Gate(front.gate)
	if gate == "" {
		gate = compare.GateWorse
	}
	code := gate.Exit(compared)
	failing := failing(done.Verdict, drift)
	text := ""
	switch {
	case code == exitHarness:
		text = "nothing can be said of the difference to the baseline"
	case gate == compare.GateNone:
		return nil
	case len(drift.Changes) > 0:
		code, text = exitFailed, count(len(drift.Changes), "check")+" did not come out as in the baseline"
	case failing > 0:
		code, text = exitFailed, count(failing, "case")+" that the baseline does not know did not pass"
	case len(drift.Gone) > 0:
		code, text = exitFailed, count(len(drift.Gone), "case")+" of the baseline did not run"
	case code != 0:
		text = "the gate " + string(gate) + " is not passed"
	case unclear(compared):
		code, text = exitOpen, "checks pass less often than in the baseline, and whether that is chance is not known"
	default:
		return nil
	}
	return &exitError{code: code, err: errors.New(text), next: "if it is right so: " + front.line("--bless")}
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

// failing counts the cases that failed with the skill and of which the baseline knows nothing.
func failing(v result.Run, d baseline.Drift) (n int) {
	for _, c := range v.Cases {
		u := c.Units[0]
		id := strings.TrimSuffix(u.ID, fmt.Sprintf("/%s/%d", u.Variant, u.Trial))
		if u.Variant == skill.With && c.Outcome.Bad() &&
			slices.ContainsFunc(d.Unknown, func(x compare.Incomparable) bool { return x.Case == id }) {
			n++
		}
	}
	return n
}

const maxDrift = 20 // checks of a kind that are listed

// tellDrift says how the run differs from the baseline.
func (a *App) tellDrift(file string, was *baseline.Baseline, d baseline.Drift, compared []*compare.Comparison) {
	line := func(format string, args ...any) {
		fmt.Fprintln(a.Stderr, printable(a.secrets.String(fmt.Sprintf(format, args...))))
	}
	list := func(n int, show func(i int) string) {
		for i := range min(n, maxDrift) {
			line("  %s", show(i))
		}
		if n > maxDrift {
			line("  and %d more", n-maxDrift)
		}
	}
	line("baseline   %s of %s: %s as before", file, was.CreatedAt.Format("2006-01-02"), count(d.Kept, "check"))
	if n := len(d.Changes); n > 0 {
		line("%s of the same skill came out otherwise:", count(n, "check"))
		list(n, func(i int) string {
			c := d.Changes[i]
			what := excerpt.Line(c.Check, 160)
			if what == "" {
				what = "the trial as a whole"
			}
			return fmt.Sprintf("%s, %s, trial %d: %s: was %s, is %s", c.Case, c.Variant, c.Trial, what, wordOf(c.Was),
				wordOf(c.Now))
		})
	}
	for _, c := range compared {
		line("with the skill as it is, compared with the baseline, in %s: %s", count(c.Pairs, "case"), c.Headline())
		for _, why := range c.Why {
			line("  %s", why)
		}
		if lost := lostChecks(c); len(lost) > 0 {
			line("checks that pass less often than in the baseline:")
			list(len(lost), func(i int) string { return lost[i].Case + ": " + excerpt.Line(lost[i].Text, 160) })
		}
	}
	if n := len(d.Unknown); n > 0 {
		line("%s that the baseline does not know:", count(n, "case"))
		list(n, func(i int) string { return d.Unknown[i].Case + ": " + strings.Join(d.Unknown[i].Why, ", ") })
	}
	if n := len(d.Gone); n > 0 {
		line("%s only in the baseline:", count(n, "case"))
		list(n, func(i int) string { return d.Gone[i] })
	}
}

// wordOf names an outcome that may be missing.
func wordOf(o result.Outcome) string {
	if o == "" {
		return "not there"
	}
	return string(o)
}

// blessSkill keeps what the run came to as the baseline of the skill.
func (a *App) blessSkill(r *skillRun, b *baseline.Baseline) error {
	path := filepath.FromSlash(r.suite.Baseline())
	if err := baseline.WriteFile(r.suite.Root, path, b, a.secrets); err != nil {
		return fmt.Errorf("keep the baseline: %w", err)
	}
	fmt.Fprintf(a.Stderr, "baseline   %s is written: commit it\n", a.shown(filepath.Join(r.suite.Root, path)))
	return nil
}

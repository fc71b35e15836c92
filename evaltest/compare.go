package evaltest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/baseline"
	"github.com/sdd-eval/sdd-eval/internal/compare"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// Compare fails the test if the head passes less often than the base, and that is not by chance, or if nothing can be
// known of it. It is `sdd-eval compare BASE HEAD`: each names a run by its id, "latest" or "latest~1", its directory, a
// report.json, or a baseline that `sdd-eval bless` wrote; ":claude" behind it selects one variant. Runs and baselines
// are those of the project; if EVALTEST_RUN_DIR is set, runs are those below it.
//
// A margin above 0, such as 0.05, is the loss of the mean pass rate that has to be refused: then the test also fails if
// there were too few trials for that. With 0 it passes, and logs which loss would have gone unseen.
func Compare(t *testing.T, base, head string, margin float64) {
	t.Helper()
	command := "sdd-eval compare " + base + " " + head
	rule, gate := compare.Rule{Scope: compare.Suite, Alpha: .05, Margin: .05}, compare.GateWorse
	if margin != 0 {
		rule.Margin, gate = margin, compare.GateNotWorse
		command += " --gate not-worse --margin " + strconv.FormatFloat(margin, 'g', -1, 64)
	}
	all, err := comparisons(rule, base, head)
	if err != nil {
		door.Of(t).Fatalf("evaltest.Compare: ERROR\n%v", withAdvice(err))
	}
	var text strings.Builder
	for _, c := range all {
		fmt.Fprintf(&text, "%s\n", c.Text())
		door.Of(t).Attr("verdict", string(c.Verdict))
	}
	switch code := gate.Exit(all); code {
	case 0:
		door.Of(t).Logf("evaltest.Compare: %s", text.String())
	case 3:
		door.Of(t).Errorf("evaltest.Compare: ERROR\n%snext: %s", text.String(), command)
	default:
		door.Of(t).Errorf("evaltest.Compare: FAIL\n%snext: %s", text.String(), command)
	}
}

// comparisons compares two arms.
func comparisons(rule compare.Rule, base, head string) ([]*compare.Comparison, error) {
	if !(rule.Margin > 0 && rule.Margin < 1) {
		return nil, fmt.Errorf("the margin %g: want a share such as 0.05, or 0", rule.Margin)
	}
	h, err := newHarness()
	if err != nil {
		return nil, err
	}
	// What is read need not be below the module, so that go test's cache would not notice other runs.
	if err := project.KeepOutOfCache(h.root); err != nil {
		return nil, err
	}
	f := baseline.Finder{Dir: h.dir, Runs: h.runDir, Mask: new(secret.Set)}
	if f.Root, err = rundir.ProjectRoot(h.dir, "", os.Getenv); err != nil {
		return nil, err
	}
	arms, err := f.Two(base, head)
	if err != nil {
		return nil, err
	}
	return rule.CompareAll(arms), nil
}

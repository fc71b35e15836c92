package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// manyCases makes a run of two variants and 15 cases that end in various ways, and returns its report.
func manyCases(t *testing.T, dir string) *report.Report {
	t.Helper()
	m := rundir.Manifest{
		Name: "shop", Playbook: rundir.Playbook{Path: "shop.yaml"}, Tool: tool, CreatedAt: noon, Mode: "live",
		Sandbox: "none", Variants: []rundir.Variant{{ID: "claude"}, {ID: "codex"}}, Evaluators: true, Trials: 1,
		Need: 1, Judges: make(map[string][]string),
	}
	var units []result.Unit
	for c := range 15 {
		id := fmt.Sprintf("c%02d", c)
		m.Cases = append(m.Cases, rundir.Case{ID: id, Variants: []string{"claude", "codex"}})
		m.Judges[id] = []string{"tests"}
		for _, v := range m.Variants {
			u := result.Unit{
				ID: "shop/" + id + "/" + v.ID + "/1", Case: id, Variant: v.ID, Trial: 1, Outcome: result.Pass,
				Started: noon, Duration: result.Duration(70e9),
				Metrics: &result.Metrics{
					Iterations: 1, Tokens: &result.Tokens{Total: new(int64(123_456))},
					Cost: &trajectory.Cost{Amount: 0.25, Currency: "USD"},
				},
			}
			verdict := result.Evaluation{
				Name: "tests", Outcome: result.Pass, Score: new(1.0), Weight: 1,
				Position: "shop.yaml:12",
			}
			switch {
			case c == 3:
				u.Outcome, u.Reason, u.Metrics = result.Error, "start the agent: \x1b[31mnot found", nil
				verdict = result.Evaluation{
					Name: "tests", Outcome: result.Skip, Reason: "the agent did not run", Position: "shop.yaml:12",
				}
			case c > 4 && v.ID == "codex":
				u.Outcome = result.Fail
				verdict.Outcome, verdict.Score, verdict.Reason = result.Fail, new(0.0), "exit code 1: go test ./..."
			case c == 4:
				u.Outcome = result.Fail
				verdict.Outcome, verdict.Score, verdict.Reason = result.Fail, new(0.0), "README.md: is gone, 私は消えた"
			}
			u.Evaluations = []result.Evaluation{verdict}
			m.Units, units = append(m.Units, u.ID), append(units, u)
		}
	}
	r, err := rundir.Create(dir, m, []byte(validPlaybook), new(secret.Set))
	require.NoError(t, err)
	for _, u := range units {
		require.NoError(t, r.Append(u))
	}
	require.NoError(t, r.Finish(rundir.StateFinished))
	rep, err := report.Load(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	return rep
}

// TestSummarise: the end of a run fits terminals, wide and narrow ones, and files.
func TestSummarise(t *testing.T) {
	rep := manyCases(t, projectDir(t))
	for _, columns := range []int{0, 45, 120} {
		var b bytes.Buffer
		summarise(&b, rep, columns, true)
		golden.Equal(t, fmt.Sprintf("testdata/summary-%d.golden", columns), b.String())
	}
}

// TestShowMany: of a run of many units those are shown that did not pass. A selection shows others, and all of one.
func TestShowMany(t *testing.T) {
	dir := projectDir(t)
	id := manyCases(t, dir).Run.ID
	stable := func(out string) string {
		return regexpFinished.ReplaceAllString(strings.ReplaceAll(out, id, "RUN"), "finished   NOW UTC")
	}
	for name, args := range map[string][]string{
		"many": {"show"}, "one": {"show", "shop/c05/codex"}, "some": {"show", id, "c0[56]", "--variant", "codex"},
		"pattern": {"show", "shop/c0[56]/codex"},
	} {
		got := call(t, dir, args...)
		if name == "some" {
			require.Equal(t, exitUsage, got.code)
			require.Contains(t, got.stderr, "sdd-eval: show: --units 'c0[56]' --variant codex: no unit is "+
				"called that: of 30 units there are those of the cases c00, c01, c02, c03, c04 and 10 more under the "+
				"variants claude, codex\nnext: sdd-eval show "+id)
			continue
		}
		require.Equal(t, exitOK, got.code, got.stderr)
		golden.Equal(t, "testdata/show/"+name+".golden", stable(got.stdout))
	}
	all := call(t, dir, "show", ".").stdout
	require.Contains(t, all, "shown      30 of 30 units: --units .\n")
	require.Equal(t, 30, strings.Count(all, "shop/c"))
}

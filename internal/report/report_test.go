package report

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// sample returns a run with a number of variants, cases and trials. It is always the same; its units differ in outcomes
// and figures.
func sample(t testing.TB, variants, cases, trials int) source {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	files := artifacts{run: sampleRun(t, random), diff: sampleDiff}
	at := time.Date(2026, 3, 2, 10, 15, 0, 0, time.UTC)
	end := at.Add(2 * time.Hour)
	s := source{
		manifest: rundir.Manifest{
			RunID: runID, CreatedAt: at, FinishedAt: &end, Tool: "sdd-eval 0.1.0", Name: "shop", Mode: "live",
			Sandbox: "none", Trials: trials, Need: max(1, trials-1), Evaluators: true, State: rundir.StateFinished,
			Playbook: rundir.Playbook{Path: "evals/shop/shop.yaml", Digest: "sha256:0"},
		},
		paths: func(u *Unit) Paths {
			dir := fmt.Sprintf("variants/%s/cases/%s/%d/", u.Variant, u.Case, u.Trial)
			return Paths{dir + "workspace", dir + "logs", dir + "artifacts"}
		},
		look:      func(*Unit) error { return nil },
		artifacts: func(*Unit) (artifacts, error) { return files, nil },
	}
	for v := range variants {
		s.manifest.Variants = append(s.manifest.Variants, rundir.Variant{
			ID: fmt.Sprintf("variant-%d", v+1), Style: "sdd", Kind: "claude-code-acp", Model: "sonnet",
			Command: "claude-code-acp",
		})
	}
	for c := range cases {
		id := fmt.Sprintf("case-%d", c+1)
		s.manifest.Cases = append(s.manifest.Cases, rundir.Case{
			ID: id, Title: "Refund an order in part", Prompts: []string{"Refund 40 of order 17."},
		})
		for _, v := range s.manifest.Variants {
			for trial := range trials {
				u := sampleUnit(id, v.ID, trial+1, random)
				s.manifest.Units = append(s.manifest.Units, u.ID)
				s.units = append(s.units, u)
			}
		}
	}
	return s
}

func sampleUnit(caseID, variant string, trial int, random *rand.Rand) result.Unit {
	number := func(low, high int64) *int64 { n := low + random.Int64N(high-low); return &n }
	one, half := 1.0, 0.5
	u := result.Unit{
		ID: fmt.Sprintf("shop/%s/%s/%d", caseID, variant, trial), Case: caseID, Variant: variant, Trial: trial,
		Outcome: result.Pass, Stop: "end_turn", Endpoint: "real", Duration: result.Duration(*number(2e9, 90e9)),
		Started: time.Date(2026, 3, 2, 10, 15, 1, 0, time.UTC),
		Steps: []result.Step{{
			Name: "Run the tests", Position: "evals/shop/shop.yaml:31", Outcome: result.Pass,
			Output: "ok  \tshop\t0.012s\n",
		}},
		Evaluations: []result.Evaluation{{
			Name: "refunds-40", Type: "tool_trajectory", Outcome: result.Pass, Score: &one, Threshold: 1, Weight: 1,
			Position: "evals/shop/shop.yaml:23",
		}},
		Metrics: &result.Metrics{
			Version: 1, Iterations: 1, StopReasons: []string{"end_turn"},
			ToolCalls: map[string]int{"Read": int(*number(1, 9)), "Edit": int(*number(1, 4)), "Bash": 2},
			Commands: []result.Command{
				{Source: result.FromTerminal, Command: "go test ./...", ExitCode: new(int), Output: "ok\n"},
			},
			Permissions: []result.Permission{{Tool: "Edit", Title: "Edit order.json", Decision: "allow_once"}},
			Denied:      []result.Denial{{Op: "read", Path: "/etc/passwd", Reason: "it is outside the workspace"}},
			Tokens:      &result.Tokens{Total: number(2000, 40000)},
			Cost:        &trajectory.Cost{Amount: float64(*number(10, 400)) / 1000, Currency: "USD"},
			Changes: &result.Changes{Modified: 1, Bytes: 65, Files: []result.FileChange{
				{Path: "order.json", Op: "modified", Kind: "file", Bytes: 65},
			}},
		},
	}
	switch random.IntN(8) {
	case 0:
		u.Outcome = result.Fail
		e := &u.Evaluations[0]
		e.Outcome, e.Score = result.Fail, &half
		e.Reason, e.Detail = "in_order: step 2 not matched", "1 ✓ Read\n2 ✗ Edit"
	case 1:
		if random.IntN(4) == 0 {
			u.Outcome, u.Reason, u.Evaluations = result.Error, "the model answered 529 overloaded", nil
		}
	}
	return u
}

const sampleDiff = `diff --git a/order.json b/order.json
--- a/order.json
+++ b/order.json
@@ -1,5 +1,5 @@
 {
   "id": 17,
-  "refunded": 0,
+  "refunded": 40,
   "total": 100
 }
`

// sampleRun returns a session of 20 tool calls whose texts do not compress well.
func sampleRun(t testing.TB, random *rand.Rand) json.RawMessage {
	t.Helper()
	run := trajectory.Run{Agent: trajectory.Agent{Kind: "claude-code-acp", Name: "Claude Code"}, Cwd: "$WORKSPACE"}
	var at time.Duration
	add := func(b trajectory.Body) {
		at += 200 * time.Millisecond
		run.Events = append(run.Events, trajectory.Event{Turn: 1, At: at, Body: b})
	}
	add(trajectory.Prompt{Text: "Refund 40 of order 17."})
	for i := range 20 {
		id := fmt.Sprint("c", i+1)
		add(trajectory.ToolStart{
			ID: id, Name: "Read", Kind: "read", Title: "Read order.json",
			Args: map[string]any{"file_path": "$WORKSPACE/order.json"},
		})
		add(trajectory.ToolEnd{ID: id, Status: trajectory.Completed, Output: fmt.Sprintf("%x", random.Uint64())})
	}
	add(trajectory.Message{Text: "Done."})
	add(trajectory.Stop{Reason: "end_turn"})
	data, err := json.Marshal(&run)
	require.NoError(t, err)
	return data
}

func TestWriteTwiceIsTheSame(t *testing.T) {
	run := openRun(t)
	read := func() map[string]string {
		written, err := loaded(t, run).Write(Usual())
		require.NoError(t, err)
		require.Len(t, written, len(Usual()))
		files := make(map[string]string)
		for _, name := range written {
			data, err := os.ReadFile(filepath.Join(run.Dir(), name))
			require.NoError(t, err)
			files[name] = string(data)
		}
		return files
	}
	require.Equal(t, read(), read())
}

func TestWriteUnknownFormat(t *testing.T) {
	run := openRun(t)
	_, err := loaded(t, run).Write([]string{"md", "pdf"})
	require.EqualError(t, err, `unknown report format "pdf"; available: `+strings.Join(Names(), ", "))
	require.NoFileExists(t, filepath.Join(run.Dir(), "report.md"), "nothing is written")
}

package evaltest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/testkit/mcpagent"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// TestOverrideClient has an agent that runs see an answer which is written in Go, while it is recorded and in replay.
func TestOverrideClient(t *testing.T) {
	t.Setenv("EVALTEST_SANDBOX", "none")
	t.Setenv("EVALTEST_RECORD_IN_CI", "1")
	cassettes := t.TempDir()
	for _, mode := range []string{"record", "replay"} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv("EVALTEST_MODE", mode)
			evaltest.Describe(t, "testdata/levels/client.yaml", evaltest.Dirs{Cassettes: cassettes},
				evaltest.Override(playbook.Override{Tool: "fs/write_text_file", Error: "disk full"}),
				evaltest.Check("write failed", func(t *evaltest.T, u evaltest.Unit) {
					calls := u.Run.ToolCalls()
					require.Equal(t, trajectory.Failed, calls[len(calls)-1].Status)
				}))
		})
	}
}

// TestOverrideMCP does so with what an MCP server answers.
func TestOverrideMCP(t *testing.T) {
	t.Setenv("EVALTEST_SANDBOX", "none")
	t.Setenv("EVALTEST_RECORD_IN_CI", "1")
	bin, cassettes := t.TempDir(), t.TempDir()
	require.NoError(t, mcpagent.Install(bin))
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	for _, mode := range []string{"record", "replay"} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv("EVALTEST_MODE", mode)
			evaltest.Describe(t, "testdata/levels/mcp.yaml", evaltest.Dirs{Cassettes: cassettes},
				evaltest.Override(playbook.Override{
					Tool: "mcp__stock__count", Case: "task",
					Args: map[string]any{"sku": "tea"}, Output: []int{3},
				}),
				evaltest.Check("told so", func(t *evaltest.T, u evaltest.Unit) {
					require.Contains(t, u.Run.Answer(), `"text":"[3]"`)
				}))
		})
		require.NoError(t, os.RemoveAll(filepath.Join(bin, "mcp-stock")), "the server is gone")
	}
}

// TestOverrideOfARow has one row of a suite see another answer.
func TestOverrideOfARow(t *testing.T) {
	t.Setenv("EVALTEST_MODE", "live")
	t.Setenv("EVALTEST_SANDBOX", "none")
	evaltest.Suite[string, *evaltest.AgentResult, trajectory.Status]{
		ID: "rows",
		Task: evaltest.AgentTask(evaltest.AgentRun{
			Agent:     playbook.Agent{Kind: "fake-acp", Args: []string{"testdata/module/scripts/greet.json"}},
			Workspace: "testdata/module/fixtures/shop",
		}),
		Data: []evaltest.Row[string, trajectory.Status]{
			{ID: "full", Input: "Write a greeting.", Expected: trajectory.Failed},
			{ID: "empty", Input: "Write a greeting.", Expected: trajectory.Completed},
		},
		Scorers: []evaltest.Scorer[string, *evaltest.AgentResult, trajectory.Status]{evaltest.NewScorer("writes",
			func(_ context.Context, _ string, res *evaltest.AgentResult, want trajectory.Status) (evaltest.Score,
				error,
			) {
				calls := res.Run.ToolCalls()
				got := calls[len(calls)-1].Status
				if got != want {
					return evaltest.Score{Reason: "it is " + string(got)}, nil
				}
				return evaltest.Score{Value: 1}, nil
			})},
		Overrides: []playbook.Override{{Tool: "Write", Case: "full", Error: "disk full"}},
	}.Run(t)
}

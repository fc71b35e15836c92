package evals

import (
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/playbook"
)

func TestFileSearch(t *testing.T) {
	evaltest.AgentSuite{
		ID: "file-search",
		Task: evaltest.AgentTask(evaltest.AgentRun{
			Agent:     playbook.Agent{Kind: "claude-code-acp", Preset: "loopback", Command: "claude-code-acp"},
			Workspace: "../fixtures/inventory",
			Tools:     []string{"Grep", "Read"},
		}),
		Data: []evaltest.AgentRow{{
			ID: "cost",
			Input: "Where is the cost of an order line worked out? " +
				"Search for it, read the file, and name the function.",
			Expected: evaltest.Calls{
				trajectory.Tool("Grep").Args(trajectory.Args{"pattern": trajectory.ContainsCI("cents")}),
				trajectory.Tool("Read").Args(trajectory.Args{"file_path": trajectory.Path("reorder/plan.go")}),
			},
		}},
		Scorers: []evaltest.AgentScorer{
			evaltest.ToolSequence(trajectory.Superset),
			evaltest.ExcludedTools("Bash", "Edit", "Write"),
			evaltest.Completion(),
		},
	}.Run(t)
}

package evals

import (
	"context"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/playbook"
)

func TestFileSearch(t *testing.T) { fileSearch.Run(t) }

// TestFileSearchNotices: the suite would notice a bad agent.
func TestFileSearchNotices(t *testing.T) {
	fileSearch.Mutate(t, evaltest.Mutation{MinKilled: 0.95, Strict: true})
}

var fileSearch = evaltest.AgentSuite{
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
			trajectory.Tool("Grep").Where("works", works).Args(trajectory.Args{
				"pattern": trajectory.Regex(`(?i)^cents$`), "path": trajectory.Path("reorder"),
				"glob": trajectory.OneOf("plan.go", "*.go"), "output_mode": trajectory.OneOf("content"),
			}),
			trajectory.Tool("Read").Where("works", works).Args(trajectory.Args{
				"file_path": trajectory.Path("reorder/plan.go"),
			}),
		},
	}},
	Scorers: []evaltest.AgentScorer{
		evaltest.ToolSequence(trajectory.Exact),
		evaltest.ExcludedTools("Bash", "Edit", "Write"),
		evaltest.Completion(),
		evaltest.NewScorer("names-function", namesFunction),
	},
}

func works(c trajectory.ToolCall) bool { return c.Outcome() == trajectory.OutcomeOK }

func namesFunction(
	_ context.Context, _ string, res *evaltest.AgentResult, _ evaltest.Calls,
) (evaltest.Score, error) {
	if res.Answer() != "The function `Plan` in `reorder/plan.go` works it out." {
		return evaltest.Score{Reason: res.Answer()}, nil
	}
	return evaltest.Score{Value: 1}, nil
}

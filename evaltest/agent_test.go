package evaltest_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// TestRunAgent runs the scripted agent from this very test binary.
func TestRunAgent(t *testing.T) {
	t.Setenv("EVALTEST_MODE", "live")
	t.Setenv("EVALTEST_SANDBOX", "none")
	workspace := ""
	t.Run("run", func(t *testing.T) {
		res := evaltest.RunAgent(t, evaltest.AgentRun{
			ID:     "greeting",
			Agent:  playbook.Agent{Kind: "fake-acp", Args: []string{"testdata/module/scripts/greet.json"}},
			Prompt: "Write a greeting.", Workspace: "testdata/module/fixtures/shop",
			Files: map[string]string{"note.txt": "Be kind.\n"},
		})
		require.Equal(t, "I will look at the shop first.", res.Answer())
		require.FileExists(t, filepath.Join(res.Workspace, "note.txt"))
		require.FileExists(t, filepath.Join(res.Workspace, "greeting.txt"))
		require.Empty(t, res.Session, "nothing is recorded")
		require.True(t, trajectory.Never("Bash").Match(res.Run).Pass)
		workspace = res.Workspace
	})
	t.Run("overlay", func(t *testing.T) {
		res := evaltest.RunAgent(t, evaltest.AgentRun{
			ID:     "overlaid",
			Agent:  playbook.Agent{Kind: "fake-acp", Args: []string{"testdata/module/scripts/greet.json"}},
			Prompt: "Write a greeting.", Workspace: "testdata/module/fixtures/shop",
			Add:          []playbook.Addition{{From: "testdata/module/scripts", To: "scripts"}},
			Skills:       []string{"../internal/plan/testdata/skill"},
			Instructions: "testdata/module/fixtures/shop/README.md",
		})
		require.FileExists(t, filepath.Join(res.Workspace, "scripts", "greet.json"))
		require.FileExists(t, filepath.Join(res.Workspace, ".agents", "skills", "skill", "SKILL.md"))
		require.FileExists(t, filepath.Join(res.Workspace, "AGENTS.md"))
		require.NotContains(t, res.Changes, "AGENTS.md", "what it is given is not its work")
	})
	t.Run("override", func(t *testing.T) {
		res := evaltest.RunAgent(t, evaltest.AgentRun{
			ID:     "overridden",
			Agent:  playbook.Agent{Kind: "fake-acp", Args: []string{"testdata/module/scripts/greet.json"}},
			Prompt: "Write a greeting.", Workspace: "testdata/module/fixtures/shop",
			Overrides: []playbook.Override{{Tool: "Write", Error: "disk full"}},
		})
		calls := res.Run.ToolCalls()
		require.Equal(t, trajectory.Failed, calls[len(calls)-1].Status)
		require.Equal(t, "disk full", calls[len(calls)-1].Output)
	})
	t.Run("sandbox", func(t *testing.T) {
		t.Setenv("EVALTEST_SANDBOX", "")
		wrap, confined := filepath.Join(t.TempDir(), "wrap"), filepath.Join(t.TempDir(), "confined")
		require.NoError(t, os.WriteFile(wrap, []byte("#!/bin/sh\n: >'"+confined+"'\nexec \"$@\"\n"), 0o755))
		evaltest.RunAgent(t, evaltest.AgentRun{
			ID:     "confined",
			Agent:  playbook.Agent{Kind: "fake-acp", Args: []string{"testdata/module/scripts/greet.json"}},
			Prompt: "Write a greeting.", Workspace: "testdata/module/fixtures/shop",
			Sandbox: playbook.Sandbox{Kind: "command", Command: []string{wrap}},
		})
		require.FileExists(t, confined)
	})
	require.NoDirExists(t, workspace, "it goes with the test")
	_, err := os.Stat(filepath.Dir(workspace))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// answers scores whether the agent said anything.
var answers = evaltest.NewScorer("answers",
	func(_ context.Context, _ string, res *evaltest.AgentResult, _ evaltest.Calls) (evaltest.Score, error) {
		if res.Answer() == "" {
			return evaltest.Score{Reason: "no answer"}, nil
		}
		return evaltest.Score{Value: 1}, nil
	})

// TestAgentJudge has an agent judge what a task returned, without a key.
func TestAgentJudge(t *testing.T) {
	t.Setenv("EVAL_LLM_JUDGE", "1")
	t.Setenv("EVALTEST_SANDBOX", "none")
	t.Setenv("OPENAI_API_KEY", "")
	evaltest.Suite[string, string, string]{
		ID:   "judged-by-an-agent",
		Task: func(_ context.Context, in string) (string, error) { return in + " Hello.", nil },
		Data: []evaltest.Row[string, string]{{ID: "greet", Input: "Say hello."}},
		Judges: []playbook.LLMJudge{{
			Agent:     playbook.Agent{Kind: "fake-acp", Args: []string{"testdata/judge-agent.json"}},
			Threshold: 0.5, // it passes one of two
			Rubrics:   []playbook.Rubric{{ID: "polite", Text: "It greets."}, {ID: "short", Text: "It is one word."}},
		}},
	}.Run(t)
}

// TestLLMJudge shows a model what a run did and what was expected of it.
func TestLLMJudge(t *testing.T) {
	model := newJudgeModel(t)
	model.score.Store(`{"score": 0.9, "reason": "It read.", "hits": [], "misses": []}`)
	t.Setenv("EVAL_LLM_JUDGE", "1")
	t.Setenv("OPENAI_API_KEY", "sk-"+"test-key")
	t.Setenv("OPENAI_BASE_URL", model.url)
	evaltest.AgentSuite{
		ID: "judged",
		Task: func(context.Context, string) (*evaltest.AgentResult, error) {
			return &evaltest.AgentResult{Run: &trajectory.Run{Events: []trajectory.Event{
				{Turn: 1, Body: trajectory.Prompt{Text: "Find it."}},
				{Turn: 1, Body: trajectory.ToolStart{ID: "c1", Name: "Grep"}},
				{Turn: 1, Body: trajectory.ToolStart{ID: "c2", Name: "Read"}},
				{Turn: 1, Body: trajectory.Message{Text: "Found."}},
			}}}, nil
		},
		Data: []evaltest.AgentRow{{
			ID: "find", Input: "Find it.", ExpectedFile: "testdata/module/suites/testdata/calls.json",
		}},
		Scorers: []evaltest.AgentScorer{evaltest.Weighted("search", evaltest.ToolOrder().Weight(2), answers)},
		Judges:  []playbook.LLMJudge{{Models: []string{"judge-1"}}},
	}.Run(t)
	require.EqualValues(t, 1, model.asked.Load())
	asked, _ := model.last.Load().(string)
	for _, part := range []string{
		"# Question\nFind it.", "These tools are called:\n- Grep pattern=absent()\n- Read",
		"# Answer\nFound.", "# Tool calls\nGrep null\nRead null",
	} {
		require.Contains(t, asked, part)
	}
}

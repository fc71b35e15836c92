package livetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// TestRealAgentJudges has each agent judge, and replays what they said without any of them.
func TestRealAgentJudges(t *testing.T) {
	t.Parallel()
	p := newJudged(t, "testdata/agent-judge.yaml")
	judged := func(mode string) {
		said, _, r := p.run(mode)
		units, err := r.Units()
		require.NoError(t, err)
		require.Len(t, units, 1, said)
		require.Len(t, units[0].Evaluations, 9, said)
		for _, e := range units[0].Evaluations {
			assert.Equal(t, result.Fail, e.Outcome, "%s: %s", e.Name, e.Reason)
			if assert.Len(t, e.Checks, 2, e.Name) {
				assert.Equal(t, "No greeting.", e.Checks[0].Evidence)
				assert.Equal(t, result.Pass, e.Checks[1].Outcome)
			}
		}
	}
	judged("record")
	recording, err := os.ReadFile(filepath.Join(p.root, "cassettes/evals/suite/p/task/scripted.1.judges.jsonl"))
	require.NoError(t, err)
	for _, by := range []string{"claude-agent-acp 0.101.0", "claude-code 2.1.318"} {
		assert.Contains(t, string(recording), by)
	}
	p.path, p.presets, p.env = os.Getenv("PATH"), t.TempDir(), nil
	judged("replay")
}

// TestRealAgentJudgeSnoops: an agent that looks around before it judges has judged nothing.
func TestRealAgentJudgeSnoops(t *testing.T) {
	t.Parallel()
	said, _, r := newJudged(t, "testdata/agent-judge-snoops.yaml").run("live")
	units, err := r.Units()
	require.NoError(t, err)
	require.Len(t, units, 1, said)
	for _, e := range units[0].Evaluations {
		assert.Equal(t, result.Error, e.Outcome, e.Name)
		assert.Regexp(t, `it called the tool "[Rr]ead", and an agent that judges may use none`, e.Reason, e.Name)
	}
}

// newJudged returns a project in which agents may judge, and nobody has a key.
func newJudged(t *testing.T, playbook string) project {
	t.Helper()
	p := newProject(t, "testdata/agent-judge-models", playbook)
	p.env = []string{"EVAL_LLM_JUDGE=1", "OPENAI_API_KEY="}
	return p
}

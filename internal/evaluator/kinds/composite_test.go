//go:build unix

package kinds_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/script"
)

// model gives one reply and keeps what it was asked.
type model struct {
	reply string
	asked llm.Request
}

func (m *model) Complete(_ context.Context, r llm.Request) (llm.Reply, error) {
	m.asked = r
	return llm.Reply{Text: m.reply, Model: r.Model}, nil
}

// A member of a composite has its own prompt and its own config, and a skip among members is no pass.
func TestK1(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(root, "judge.sh"), []byte(`cat > "$1"; echo '{"score": 1}'`), 0o600))
	seen := filepath.Join(t.TempDir(), "seen")
	pb, err := plan.Read(plan.Source{Path: filepath.Join(root, "p.yaml"), Root: root, Data: []byte(`
task: {title: t, prompt: "What is 2+2?"}
variants: {v: {style: sdd, agent: {kind: acp, command: agent}}}
workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}
evaluators:
  - type: composite
    threshold: 0.8
    members:
      - {type: llm_judge, model: m, prompt: "The member asks about {{candidate_answer}}.", weight: 2}
      - {type: code_judge, script: [sh, ./judge.sh, ` + seen + `], config: {member: mine}}
`)}, kinds.All())
	require.NoError(t, err)
	sandbox, err := confine.New(confine.None, nil)
	require.NoError(t, err)
	m := &model{reply: `{"score": 0.85, "reason": "nearly"}`}
	in := evaluator.Input{
		Case: plan.Case{ID: "task", Prompt: "What is 2+2?", Prompts: []string{"What is 2+2?"}},
		Run: &trajectory.Run{Events: []trajectory.Event{
			{Turn: 1, Body: trajectory.Prompt{Text: "What is 2+2?"}},
			{Turn: 1, Body: trajectory.Message{Text: "The answer is 4"}},
		}},
		Scripts: &script.Runner{Sandbox: sandbox, Environ: os.Environ(), Root: root, TempDir: t.TempDir()},
		Models:  m,
	}
	v := evaluator.Judge(t.Context(), pb.Evaluators[0], in)
	require.Equal(t, result.Pass, v.Outcome, v.Reason)
	assert.InDelta(t, 0.9, *v.Score, 1e-9)
	assert.Contains(t, m.asked.User, "The member asks about")
	read, err := os.ReadFile(seen)
	require.NoError(t, err)
	assert.Contains(t, string(read), `"config":{"member":"mine"}`)

	in.Models = nil
	v = evaluator.Judge(t.Context(), pb.Evaluators[0], in)
	assert.Equal(t, result.Skip, v.Outcome)
	assert.Contains(t, v.Reason, "skipped: llm_judge: not asked")
	assert.Contains(t, v.Detail, "✓ code_judge (code_judge, weight 1) pass 1")
}

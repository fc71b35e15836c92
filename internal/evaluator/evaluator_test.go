package evaluator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// broken is an evaluator with a mistake in it.
type broken struct{ calls map[string]int }

func (broken) Needs() evaluator.Needs { return 0 }

func (b broken) Evaluate(context.Context, evaluator.Input) evaluator.Verdict {
	b.calls["x"]++
	return evaluator.Verdict{Outcome: result.Pass, Score: new(1.0)}
}

func TestJudgePanic(t *testing.T) {
	v := evaluator.Judge(t.Context(), plan.Evaluator{Name: "mine", Config: broken{}}, evaluator.Input{})
	require.Equal(t, result.Error, v.Outcome)
	require.Equal(t, "evaluator mine panicked", v.Reason)
	require.Contains(t, v.Detail, "panic: assignment to entry in nil map\n\n")
	require.Contains(t, v.Detail, "broken.Evaluate", "the stack tells where it was")
}

// large is an evaluator whose score is a part of all that it saw.
type large struct{ saw *trajectory.Result }

func (large) Needs() evaluator.Needs { return 0 }

func (l large) Evaluate(context.Context, evaluator.Input) evaluator.Verdict {
	return evaluator.Verdict{Outcome: result.Pass, Score: &l.saw.Score}
}

// TestJudgeKeepsOnlyTheScore has verdicts, which are kept for as long as a run, hold nothing of what was judged.
func TestJudgeKeepsOnlyTheScore(t *testing.T) {
	saw := &trajectory.Result{Score: 1}
	v := evaluator.Judge(t.Context(), plan.Evaluator{Name: "mine", Config: large{saw}}, evaluator.Input{})
	require.Equal(t, result.Pass, v.Outcome)
	require.Equal(t, &saw.Score, v.Score)
	require.NotSame(t, &saw.Score, v.Score)
}

func TestUnseen(t *testing.T) {
	tests := []struct {
		name, reason string
		bodies       []trajectory.Body
		want         string
	}{
		{
			name: "nothing", reason: "an agent that only talks uses no tool",
			bodies: []trajectory.Body{trajectory.Message{Text: "Done."}},
		},
		{
			name: "read", reason: "agents read their instructions",
			bodies: []trajectory.Body{trajectory.FileRead{Path: "AGENTS.md"}},
		},
		{
			name: "write", reason: "nobody writes without a tool",
			bodies: []trajectory.Body{trajectory.FileWrite{Path: "a.txt"}},
			want:   "the session shows no tool call, although the agent had its client write a.txt",
		},
		{
			name: "command", reason: "nor runs anything",
			bodies: []trajectory.Body{trajectory.Terminal{Command: "go", Args: []string{"test"}}},
			want:   "the session shows no tool call, although the agent had its client run go test",
		},
		{
			name: "reported", reason: "which call it was for is not known, but there are calls",
			bodies: []trajectory.Body{trajectory.ToolStart{ID: "1"}, trajectory.FileWrite{Path: "a.txt"}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := &trajectory.Run{}
			for _, b := range tt.bodies {
				run.Events = append(run.Events, trajectory.Event{Turn: 1, Body: b})
			}
			err := evaluator.Unseen(run)
			if tt.want == "" {
				require.NoError(t, err, tt.reason)
				return
			}
			require.EqualError(t, err, tt.want, tt.reason)
		})
	}
}

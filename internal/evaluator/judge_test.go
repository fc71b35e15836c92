package evaluator_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// broken is an evaluator with a mistake in it.
type broken struct{ calls map[string]int }

func (broken) Needs() evaluator.Needs { return 0 }

func (b broken) Evaluate(context.Context, evaluator.Input) evaluator.Verdict {
	b.calls["x"]++
	return evaluator.Verdict{Outcome: result.Pass, Score: new(1.0)}
}

func TestJudgePanic(t *testing.T) {
	v := evaluator.Judge(t.Context(), spec.Evaluator{Name: "mine", Config: broken{}}, evaluator.Input{})
	require.Equal(t, result.Error, v.Outcome)
	require.Equal(t, "evaluator mine panicked", v.Reason)
	require.Contains(t, v.Detail, "panic: assignment to entry in nil map\n\n")
	require.Contains(t, v.Detail, "broken.Evaluate", "the stack tells where it was")
}

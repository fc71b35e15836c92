package engine

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// TestDifference compares what was judged of a live unit with what its rehearsal came to.
func TestDifference(t *testing.T) {
	unit := func(o result.Outcome, reason string, evaluations ...result.Evaluation) result.Unit {
		return result.Unit{Outcome: o, Reason: reason, Evaluations: evaluations}
	}
	evaluation := func(o result.Outcome) result.Evaluation {
		return result.Evaluation{
			Name: "e", Outcome: o,
			Reason: "r",
		}
	}
	passed := unit(result.Pass, "", evaluation(result.Pass))
	tests := []struct {
		name     string
		replayed result.Unit
		want     string
	}{
		{"the same", passed, ""},
		{
			"another verdict", unit(result.Fail, "", evaluation(result.Fail)),
			"evaluator e: live pass (r), in the replay fail (r)",
		},
		{
			"another verdict without a reason",
			unit(result.Fail, "", result.Evaluation{Name: "e", Outcome: result.Fail}),
			"evaluator e: live pass (r), in the replay fail",
		},
		{"another outcome", unit(result.Fail, "", evaluation(result.Pass)), "live pass, in the replay fail"},
		{"skipped", unit(result.Skip, "no git"), "1 evaluations live, 0 in the replay: no git"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, difference(passed, tt.replayed)) })
	}
}

func TestNewWithoutCommand(t *testing.T) {
	require.PanicsWithValue(t, "engine.New: Config.Command is required", func() { _, _ = New(nil, Config{}) })
}

package evaltest_test

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// words are scorers of a suite that counts.
type words = evaltest.Scorer[string, int, int]

func always(name string, value float64) words {
	return evaltest.NewScorer(name, func(context.Context, string, int, int) (evaltest.Score, error) {
		return evaltest.Score{Value: value, Reason: "as ever"}, nil
	})
}

// TestScore asks scorers by themselves.
func TestScore(t *testing.T) {
	tests := []struct {
		name, reason string
		scorer       words
		value        float64
		err          string
	}{
		{name: "value", scorer: always("half", 0.5), value: 0.5},
		{
			name: "weighted", scorer: evaltest.Weighted("both", always("one", 1).Weight(3), always("none", 0)),
			value: 0.75,
		},
		{
			name: "above one", reason: "that is no score", scorer: always("two", 2),
			err: "its score 2 is not between 0 and 1",
		},
		{name: "no number", reason: "that is no score", scorer: always("nan", math.NaN()), err: "its score NaN"},
		{name: "zero", reason: "it judges nothing", err: "a zero Scorer judges nothing"},
		{
			name: "weight", reason: "it counts nowhere", scorer: always("one", 1).Weight(2),
			err: "counts only inside Weighted",
		},
		{
			name: "infinite weight", reason: "no other part would count",
			scorer: evaltest.Weighted("both", always("one", 1).Weight(math.Inf(1))), err: "must be above 0, not +Inf",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			score, err := tt.scorer.Score(t.Context(), "", 0, 0)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err, tt.reason)
				return
			}
			require.NoError(t, err)
			require.InDelta(t, tt.value, score.Value, 1e-9)
		})
	}
}

// TestScoreOfAFailure has a scorer pass on the score of another that fails: a part of it misses its own threshold.
func TestScoreOfAFailure(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.write("suites/failure_test.go", `package suites

import (
	"context"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
)

func TestFailure(t *testing.T) {
	both := evaltest.Weighted("both", exact.Weight(99), scores("half", 0.5).Threshold(0.6))
	s := good()
	s.Scorers = []scorer{evaltest.NewScorer("passed on",
		func(ctx context.Context, in string, out, want int) (evaltest.Score, error) {
			return both.Score(ctx, in, out, want)
		}).Named("passed-on")}
	s.Run(t)
}
`)
	out, code := m.goTest(nil, "./suites", "-run", "^TestFailure$")
	require.NotZero(t, code, out)
	require.Contains(t, out, "words/two/passed-on: FAIL 0.995")
}

// TestCompletion counts a turn that never ended, as one whose recording was cut.
func TestCompletion(t *testing.T) {
	turn := func(n int, bodies ...trajectory.Body) (events []trajectory.Event) {
		for _, b := range bodies {
			events = append(events, trajectory.Event{Turn: n, Body: b})
		}
		return events
	}
	done := turn(1, trajectory.Prompt{Text: "a"}, trajectory.Message{Text: "b"}, trajectory.Stop{Reason: "end_turn"})
	for name, tt := range map[string]struct {
		last   []trajectory.Event
		value  float64
		reason string
	}{
		"ended":       {turn(2, trajectory.Message{Text: "c"}, trajectory.Stop{Reason: "end_turn"}), 1, ""},
		"never ended": {turn(2, trajectory.Message{Text: "c"}), 0.5, "turn 2: it never ended"},
		"refused": {
			turn(2, trajectory.Message{Text: "c"}, trajectory.Stop{Reason: "refusal"}), 0.5,
			"turn 2: it ended early: refusal",
		},
	} {
		t.Run(name, func(t *testing.T) {
			run := &trajectory.Run{Events: slices.Concat(done, tt.last)}
			score, err := evaltest.Completion().Score(t.Context(), "", &evaltest.AgentResult{Run: run}, nil)
			require.NoError(t, err)
			require.Equal(t, tt.value, score.Value)
			require.Equal(t, tt.reason, score.Reason)
		})
	}
}

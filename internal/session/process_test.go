package session

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

func TestSpending(t *testing.T) {
	n := func(i int64) *int64 { return &i }
	stop := func(u *trajectory.Usage) trajectory.Event {
		return trajectory.Event{Body: trajectory.Stop{Reason: "end_turn", Usage: u}}
	}
	cost := func(amount float64, currency string) trajectory.Event {
		return trajectory.Event{Body: trajectory.State{Cost: &trajectory.Cost{Amount: amount, Currency: currency}}}
	}
	tests := []struct {
		name, reason string
		turns        [][]trajectory.Event
		tokens       int64
		costUSD      float64
		want         string
		err          string
	}{
		{name: "no limits", reason: "then nothing has to be reported", turns: [][]trajectory.Event{{stop(nil)}}},
		{
			name: "tokens unknown", reason: "a limit that is not enforced is none", tokens: 10,
			turns: [][]trajectory.Event{{stop(nil)}}, err: "cannot be enforced: the agent does not report its tokens",
		},
		{
			name: "usage without counts", reason: "it says as little as none", tokens: 10,
			turns: [][]trajectory.Event{{stop(&trajectory.Usage{})}}, err: "limits.max_tokens",
		},
		{
			name: "tokens within", reason: "the limit itself is allowed", tokens: 10,
			turns: [][]trajectory.Event{{stop(&trajectory.Usage{Total: n(4)})}, {stop(&trajectory.Usage{Total: n(6)})}},
		},
		{
			name: "tokens over", reason: "turns add up", tokens: 9, want: result.StopTokenLimit,
			turns: [][]trajectory.Event{{stop(&trajectory.Usage{Total: n(4)})}, {stop(&trajectory.Usage{Total: n(6)})}},
		},
		{
			name: "no total", reason: "the parts make one", tokens: 9, want: result.StopTokenLimit,
			turns: [][]trajectory.Event{{stop(&trajectory.Usage{Input: n(4), Output: n(5), CacheRead: n(1)})}},
		},
		{
			name: "cost over", reason: "what the agent says last is the session's", costUSD: 1,
			want:  result.StopCostLimit,
			turns: [][]trajectory.Event{{cost(0.9, "USD"), stop(nil)}, {cost(1.1, "USD"), stop(nil)}},
		},
		{
			name: "cost within", reason: "it does not add up", costUSD: 1,
			turns: [][]trajectory.Event{{cost(0.6, "USD"), stop(nil)}, {cost(0.9, "USD"), stop(nil)}},
		},
		{
			name: "another currency", reason: "one dollar is not one yen", costUSD: 1,
			turns: [][]trajectory.Event{{cost(0.6, "JPY"), stop(nil)}},
			err:   "cannot be enforced: the agent does not report its cost in USD",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var s Spending
			for _, turn := range tt.turns {
				s.Add(turn)
			}
			got, err := s.exceeded(tt.tokens, tt.costUSD)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err, tt.reason)
				require.NotEmpty(t, fault.Advice(err))
				return
			}
			require.NoError(t, err)
			require.Equal(t, tt.want, got, tt.reason)
		})
	}
}

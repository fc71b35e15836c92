package engine

import (
	"fmt"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// usd is the currency of limits.max_cost_usd.
const usd = "USD"

// spending adds up what a session's turns have used. Nil is unknown.
type spending struct {
	tokens *int64
	cost   *trajectory.Cost
}

// add takes a turn's events.
func (s *spending) add(events []trajectory.Event) {
	for _, e := range events {
		switch b := e.Body.(type) {
		case trajectory.Stop:
			if n := totalTokens(b.Usage); n != nil {
				sum := *n
				if s.tokens != nil {
					sum += *s.tokens
				}
				s.tokens = &sum
			}
		case trajectory.State:
			if b.Cost != nil {
				s.cost = b.Cost // it is the session's
			}
		}
	}
}

// totalTokens returns all tokens of a turn: the total that the agent reports, else the sum of its counts.
func totalTokens(u *trajectory.Usage) *int64 {
	switch {
	case u == nil:
		return nil
	case u.Total != nil:
		return u.Total
	}
	var sum *int64
	for _, n := range []*int64{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Thought} {
		if n == nil {
			continue
		}
		if sum == nil {
			sum = new(int64)
		}
		*sum += *n
	}
	return sum
}

// exceeded returns the limit that the session has reached, empty if none. A limit that what the agent reports cannot
// support is an error: it would be no limit.
func (s spending) exceeded(tokens int64, costUSD float64) (string, error) {
	switch {
	case tokens > 0 && s.tokens == nil:
		return "", advised{
			fmt.Errorf("limits.max_tokens: the agent does not report its tokens, so nothing would hold it to %d", tokens),
			"remove limits.max_tokens, or bound the unit by timeout and max_tool_calls",
		}
	case costUSD > 0 && (s.cost == nil || s.cost.Currency != usd):
		return "", advised{
			fmt.Errorf("limits.max_cost_usd: the agent does not report its cost in USD, so nothing would hold it to %v", costUSD),
			"remove limits.max_cost_usd, or bound the unit by timeout and max_tool_calls",
		}
	case tokens > 0 && *s.tokens > tokens:
		return result.StopTokenLimit, nil
	case costUSD > 0 && s.cost.Amount > costUSD:
		return result.StopCostLimit, nil
	}
	return "", nil
}

package session

import (
	"fmt"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// usd is the currency of limits.max_cost_usd.
const usd = "USD"

// Spending adds up what a session's turns have used. Nil is unknown.
type Spending struct {
	Tokens *int64
	Cost   *trajectory.Cost
}

// Add takes a turn's events.
func (s *Spending) Add(events []trajectory.Event) {
	for _, e := range events {
		switch b := e.Body.(type) {
		case trajectory.Stop:
			s.Tokens = result.Plus(s.Tokens, totalTokens(b.Usage))
		case trajectory.State:
			if b.Cost != nil {
				s.Cost = b.Cost // it is the session's
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
		sum = result.Plus(sum, n)
	}
	return sum
}

// exceeded returns the limit that the session has reached, empty if none. A limit that what the agent reports cannot
// support is an error: it would be no limit.
func (s Spending) exceeded(tokens int64, costUSD float64) (string, error) {
	switch {
	case tokens > 0 && s.Tokens == nil:
		return "", fault.Advise(
			fmt.Errorf("limits.max_tokens: the agent does not report its tokens, so nothing would hold it to %d", tokens),
			"remove limits.max_tokens, or bound the unit by timeout and max_tool_calls",
		)
	case costUSD > 0 && (s.Cost == nil || s.Cost.Currency != usd):
		return "", fault.Advise(
			fmt.Errorf("limits.max_cost_usd: the agent does not report its cost in USD, so nothing would hold it to %v",
				costUSD),
			"remove limits.max_cost_usd, or bound the unit by timeout and max_tool_calls",
		)
	case tokens > 0 && *s.Tokens > tokens:
		return result.StopTokenLimit, nil
	case costUSD > 0 && s.Cost.Amount > costUSD:
		return result.StopCostLimit, nil
	}
	return "", nil
}

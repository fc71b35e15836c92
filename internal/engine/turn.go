package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Prompt implements [session].
func (s *live) Prompt(ctx context.Context, text string) (cassette.Turn, error) {
	limit, err := s.turn(ctx, func(ctx context.Context) error { return s.ask(ctx, text) })
	if err != nil {
		return cassette.Turn{}, err
	}
	events := s.observer.Turn()
	if limit != "" {
		events = endedBy(events, limit)
	}
	if err := s.observer.Err(); err != nil {
		return cassette.Turn{}, err
	}
	if err := s.a.tools.replayChanges(ctx); err != nil {
		return cassette.Turn{}, err
	}
	return s.settle(ctx, events)
}

// ask prompts the agent and waits for its answer. An agent that does not give one is killed: it may still be at work,
// and what it does now belongs to no turn. Close reports what cannot be killed.
func (s *live) ask(ctx context.Context, text string) error {
	resp, err := s.session.Prompt(ctx, acp.TextContent{Text: text})
	if err != nil {
		if ctx.Err() == nil {
			err = s.exited(err)
		}
		_, _ = s.process.Kill()
		return modelFault(err)
	}
	if !slices.Contains(stopReasons, resp.StopReason) {
		return fmt.Errorf("the agent ended its turn with the stop reason %q, which the protocol does not have", resp.StopReason)
	}
	return nil
}

// overloaded matches what agents say when their model answers 429 or 5xx: the codes, and the names that providers give
// them.
var overloaded = lazyregexp.New(`(?i)\b(429|5\d\d)\b|rate.?limit|overloaded`)

// modelFault marks the error of a turn as one that another attempt may not meet, if the agent tells that its model was not
// to be had.
func modelFault(err error) error {
	answer, ok := errors.AsType[*acp.Error](err)
	if ok && (overloaded.MatchString(answer.Message) || overloaded.Match(answer.Data)) {
		return infrastructure{err}
	}
	return err
}

// stopReasons are those of the protocol.
var stopReasons = []acp.StopReason{
	acp.StopEndTurn, acp.StopMaxTokens, acp.StopMaxTurnRequests, acp.StopRefusal, acp.StopCancelled,
}

// complete implements [agentSession].
func (s *live) complete(ctx context.Context, last *cassette.Turn) error {
	late := slices.DeleteFunc(s.observer.Turn(), func(e trajectory.Event) bool {
		_, isStop := e.Body.(trajectory.Stop) // to a turn that a limit has ended
		return isStop
	})
	return errors.Join(s.work.complete(ctx, last, late), s.observer.Err())
}

// checkCost ends the turn in which the session becomes too expensive.
func (s *live) checkCost(u acp.SessionUpdate) {
	usage, ok := u.(acp.UsageUpdate)
	if limit := s.a.pb.Limits.MaxCostUSD; ok && limit > 0 && usage.Cost != nil && usage.Cost.Currency == usd && usage.Cost.Amount > limit {
		s.interruptTurn(limitReached{result.StopCostLimit})
	}
}

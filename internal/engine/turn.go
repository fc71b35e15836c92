package engine

import (
	"context"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Prompt implements [session].
func (s *live) Prompt(ctx context.Context, text string) (cassette.Turn, error) {
	limited, cancel := context.WithDeadlineCause(ctx, s.deadline, limitReached{result.StopTimeout})
	defer cancel()
	turn, interrupt := context.WithCancelCause(limited)
	defer interrupt(nil)
	if err := s.setInterrupt(interrupt); err != nil {
		return cassette.Turn{}, err
	}
	resp, err := s.session.Prompt(turn, acp.TextContent{Text: text})
	_ = s.setInterrupt(nil) // what comes now, the next turn tells, or the end

	cause := context.Cause(turn)
	limit, isLimit := errors.AsType[limitReached](cause)
	if err != nil && cause == nil {
		err = s.exited(err)
	}
	if err != nil {
		// It may still be at work, and what it does now belongs to no turn. Close tells of what cannot be killed.
		_, _ = s.process.Kill()
	}
	switch {
	case cause != nil && !isLimit:
		return cassette.Turn{}, cause // the run was cancelled, or the agent did what the playbook declares an error
	case err != nil && !isLimit:
		return cassette.Turn{}, modelFault(err)
	case err == nil && !slices.Contains(stopReasons, resp.StopReason):
		return cassette.Turn{}, fmt.Errorf("the agent ended its turn with the stop reason %q, which the protocol does not have", resp.StopReason)
	}
	events := s.observer.Turn()
	if isLimit {
		events = endedBy(events, limit.name)
	}
	return s.settle(ctx, events)
}

// overloaded matches what agents say when their model answers 429 or 5xx: the codes, and the names that providers give
// them.
var overloaded = regexp.MustCompile(`(?i)\b(429|5\d\d)\b|rate.?limit|overloaded`)

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

// settle takes what the turn changed in the workspace.
func (s *live) settle(ctx context.Context, events []trajectory.Event) (cassette.Turn, error) {
	if err := s.observer.Err(); err != nil {
		return cassette.Turn{}, err
	}
	s.spent.add(events)
	limit, err := s.spent.exceeded(s.limits.MaxTokens, s.limits.MaxCostUSD)
	if whole := stopReason(cassette.Turn{Events: events}) == result.StopEndTurn; err != nil && whole {
		return cassette.Turn{}, err // a turn that was cut short may be one that has nothing to report
	}
	if limit != "" {
		events = endedBy(events, limit)
	}
	if err := s.tools.replayChanges(ctx); err != nil {
		return cassette.Turn{}, err
	}
	after, delta, err := s.changes(ctx, s.manifest, s.maxDelta)
	if err != nil {
		return cassette.Turn{}, err
	}
	s.before, s.manifest = s.manifest, after
	return cassette.Turn{Events: s.normalise.Events(events), Delta: delta}, nil
}

// resync takes what others than the agent changed in the workspace: a replay makes those changes by doing the same steps
// again, and they are none of the agent's.
func (s *live) resync(ctx context.Context) error {
	after, _, err := s.changes(ctx, s.manifest, math.MaxInt64)
	if err != nil {
		return err
	}
	s.manifest = after
	return nil
}

// complete adds to the session's last turn what the agent did after its answer, now that it is gone.
func (s *live) complete(ctx context.Context, last *cassette.Turn) error {
	late := slices.DeleteFunc(s.observer.Turn(), func(e trajectory.Event) bool {
		_, isStop := e.Body.(trajectory.Stop) // to a turn that a limit has ended
		return isStop
	})
	last.Events = append(last.Events, s.normalise.Events(late)...)
	var err error
	_, last.Delta, err = s.changes(ctx, s.before, s.maxDelta)
	return errors.Join(err, s.observer.Err(), s.setInterrupt(nil))
}

// changes returns what the workspace holds and how that differs from before, for a recording. Where none is made nobody
// asks, and the workspace may hold what no cassette could.
func (s *live) changes(ctx context.Context, before workspace.Manifest, limit int64) (workspace.Manifest, workspace.Delta, error) {
	if err := s.dirs.identity.check(); err != nil || !s.records {
		return before, workspace.Delta{}, err
	}
	return workspace.Changes(ctx, s.dirs.workspace, before, limit)
}

// endedBy says that a limit ended the turn, whatever the agent made of being cancelled.
func endedBy(events []trajectory.Event, limit string) []trajectory.Event {
	for i, e := range events {
		if stop, ok := e.Body.(trajectory.Stop); ok {
			stop.Reason = limit
			events[i].Body = stop
			return events
		}
	}
	stop := trajectory.Event{Turn: 1, Body: trajectory.Stop{Reason: limit}}
	if n := len(events); n > 0 {
		stop.Turn, stop.At = events[n-1].Turn, events[n-1].At
	}
	return append(events, stop)
}

func (s *live) countCall(total int) {
	if limit := s.limits.MaxToolCalls; limit > 0 && total > limit {
		s.interruptTurn(limitReached{result.StopToolCalls})
	}
}

// checkCost ends the turn in which the session becomes too expensive.
func (s *live) checkCost(u acp.SessionUpdate) {
	usage, ok := u.(acp.UsageUpdate)
	if limit := s.limits.MaxCostUSD; ok && limit > 0 && usage.Cost != nil && usage.Cost.Currency == usd && usage.Cost.Amount > limit {
		s.interruptTurn(limitReached{result.StopCostLimit})
	}
}

// setInterrupt says how to end the turn that begins, nil that it has ended. It returns what should have ended one before.
func (s *live) setInterrupt(f context.CancelCauseFunc) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt = f
	return s.broken
}

// interruptTurn ends the current turn for a reason. Without a turn, a limit has nothing to end, and any other reason ends
// the next.
func (s *live) interruptTurn(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, isLimit := errors.AsType[limitReached](why)
	switch {
	case s.interrupt != nil:
		s.interrupt(why)
	case s.broken == nil && !isLimit:
		s.broken = why
	}
}

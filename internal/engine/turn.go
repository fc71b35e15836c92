package engine

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// Prompt implements [session].
func (s *live) Prompt(ctx context.Context, text string) (cassette.Turn, error) {
	ctx, cancel := context.WithDeadlineCause(ctx, s.deadline, limitReached{"timeout"})
	defer cancel()
	turn, interrupt := context.WithCancelCause(ctx)
	defer interrupt(nil)
	s.setInterrupt(interrupt)
	_, err := s.session.Prompt(turn, acp.TextContent{Text: text})
	s.setInterrupt(nil)

	if err != nil {
		s.process.Kill() // it may still be at work, and what it does now belongs to no turn
	}
	limit, isLimit := errors.AsType[limitReached](context.Cause(turn))
	switch cause := context.Cause(turn); {
	case cause != nil && !isLimit:
		return cassette.Turn{}, cause // the run was cancelled, or the agent did what the playbook declares an error
	case err != nil && !isLimit:
		return cassette.Turn{}, s.exited(err)
	}
	events := s.observer.Turn()
	if isLimit {
		events = endedBy(events, limit.name)
	}
	return s.settle(ctx, events)
}

// settle takes what the turn changed in the workspace.
func (s *live) settle(ctx context.Context, events []trajectory.Event) (cassette.Turn, error) {
	after, delta, err := workspace.Changes(context.WithoutCancel(ctx), s.dirs.workspace, s.manifest, s.maxDelta)
	if err != nil {
		return cassette.Turn{}, fmt.Errorf("see what the turn changed in the workspace: %w", err)
	}
	s.before, s.manifest = s.manifest, after
	return cassette.Turn{Events: s.normalise.Events(events), Delta: delta}, nil
}

// resync takes what others than the agent changed in the workspace: a replay makes those changes by doing the same steps
// again, and they are none of the agent's.
func (s *live) resync(ctx context.Context) error {
	after, _, err := workspace.Changes(ctx, s.dirs.workspace, s.manifest, math.MaxInt64)
	if err != nil {
		return err
	}
	s.manifest = after
	return nil
}

// lastDelta returns what the last turn changed, now that the agent is gone.
func (s *live) lastDelta(ctx context.Context) (workspace.Delta, error) {
	_, delta, err := workspace.Changes(ctx, s.dirs.workspace, s.before, s.maxDelta)
	if err != nil {
		return workspace.Delta{}, fmt.Errorf("see what the agent left in the workspace: %w", err)
	}
	return delta, nil
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
		s.interruptTurn(limitReached{"max_tool_calls"})
	}
}

func (s *live) setInterrupt(f context.CancelCauseFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.interrupt = f
}

// interruptTurn ends the current turn for a reason.
func (s *live) interruptTurn(why error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.interrupt != nil {
		s.interrupt(why)
	}
}

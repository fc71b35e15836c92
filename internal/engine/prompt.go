package engine

import (
	"context"
	"errors"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// ask sends the unit's agent prompts, one turn each, with nothing added; the first time it starts the session. A turn
// that ends early, by the agent's will or by a limit, is the session's last.
func (a *attempt) ask(ctx context.Context, prompts []string) error {
	if n := len(a.turns); n > 0 && stopReason(a.turns[n-1]) != result.StopEndTurn {
		return nil
	}
	if !a.prepared && (a.pb.Workspace.From != "" || len(a.unit.Case.Files) > 0) {
		return errors.New("the workspace has not been prepared: let a step use builtin:sdd-eval/workspace.prepare before")
	}
	if a.session == nil {
		if err := a.openSession(ctx); err != nil {
			return err
		}
	}
	if s, ok := a.session.(agentSession); ok && a.touched {
		if err := s.resync(ctx); err != nil {
			return err
		}
	}
	a.touched, a.byLimit = false, false
	for _, text := range prompts {
		a.watch.prompt(len(a.turns) + 1)
		turn, err := a.session.Prompt(ctx, text)
		if err != nil {
			a.touched = true // a part of its changes may have been made
			return err
		}
		a.turns = append(a.turns, turn)
		if stopReason(turn) != result.StopEndTurn {
			return nil
		}
	}
	return nil
}

// stopReason returns why a turn ended.
func stopReason(t cassette.Turn) string {
	for _, e := range t.Events {
		if s, ok := e.Body.(trajectory.Stop); ok {
			return s.Reason
		}
	}
	return ""
}

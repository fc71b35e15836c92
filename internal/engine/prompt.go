package engine

import (
	"context"
	"errors"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
)

// prompt starts the unit's session and sends it the case's prompts, one turn each, with nothing added. A turn that ends
// early, by the agent's will or by a limit, is the session's last.
func (a *attempt) prompt(ctx context.Context) error {
	if n := len(a.turns); n > 0 && stopReason(a.turns[n-1]) != "end_turn" {
		return nil
	}
	if !a.prepared && (a.source != "" || len(a.unit.Case.Files) > 0) {
		return errors.New("the workspace has not been prepared: let a step use builtin:sdd-eval/workspace.prepare before")
	}
	if a.session == nil {
		if err := a.openSession(ctx); err != nil {
			return err
		}
	}
	if l, ok := a.session.(*live); ok && a.touched {
		if err := l.resync(ctx); err != nil {
			return err
		}
	}
	a.touched = false
	for _, text := range a.unit.Case.Prompts {
		turn, err := a.session.Prompt(ctx, text)
		if err != nil {
			return err
		}
		a.turns = append(a.turns, turn)
		if stopReason(turn) != "end_turn" {
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

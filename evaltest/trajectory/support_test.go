package trajectory_test

import (
	"slices"
	"strconv"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// runOf returns a run in $WORKSPACE with these calls, each of which completed after its Duration.
func runOf(calls ...trajectory.ToolCall) *trajectory.Run {
	run := &trajectory.Run{Cwd: "$WORKSPACE"}
	var at time.Duration
	for i, c := range calls {
		id := strconv.Itoa(i)
		run.Events = append(run.Events, trajectory.Event{Turn: 1, At: at, Body: trajectory.ToolStart{
			ID: id, Name: c.Name, Kind: c.Kind, Title: c.Title, Args: c.Args,
		}})
		if c.Status == trajectory.Pending {
			continue
		}
		at += c.Duration
		run.Events = append(run.Events, trajectory.Event{Turn: 1, At: at, Body: trajectory.ToolEnd{
			ID: id, Status: trajectory.Completed,
		}})
	}
	return run
}

// together returns a run with these calls, all of which began before one of them ended.
func together(calls ...trajectory.ToolCall) *trajectory.Run {
	run := runOf(calls...)
	slices.SortStableFunc(run.Events, func(a, b trajectory.Event) int {
		_, first := a.Body.(trajectory.ToolEnd)
		_, second := b.Body.(trajectory.ToolEnd)
		switch {
		case first == second:
			return 0
		case first:
			return 1
		default:
			return -1
		}
	})
	return run
}

type args = trajectory.Args

func call(name string, a args) trajectory.ToolCall {
	return trajectory.ToolCall{Name: name, Args: map[string]any(a)}
}

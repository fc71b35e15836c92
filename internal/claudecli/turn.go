package claudecli

import (
	"fmt"
	"slices"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// Turn is the result of a prompt.
type Turn struct {
	// Events are what happened, in order, then the session's state and the stop; without a stop if the turn did not end.
	Events []trajectory.Event
	// Err is why nothing is known about the agent, though the program told of its end: a [*ModelError] among others.
	Err error
	// Ran are the tools of the calls that hooks have seen, if there are any, a name for each call.
	Ran []string

	commands []string // that the agent offers
	cost     *float64
	stop     string
	usage    *trajectory.Usage
}

// ModelError says that the model could not be asked.
type ModelError struct {
	// Status is the HTTP status of its answer, 0 if there was none.
	Status int
	// Text is what the program says of it.
	Text string
}

func (e *ModelError) Error() string {
	return fmt.Sprintf("the model could not be asked: %.500s", e.Text)
}

// Turn returns the turn that was read. The calls of a turn that did not end, because its program was killed, are cancelled.
func (o *Observer) Turn() Turn {
	t, at := o.turn, o.start.Add(o.events[len(o.events)-1].At)
	if t.stop == "" && t.Err == nil {
		for _, e := range slices.Clone(o.events) {
			if s, ok := e.Body.(trajectory.ToolStart); ok && !o.calls[s.ID].ended {
				o.calls[s.ID].ended = true
				o.add(at, trajectory.ToolEnd{ID: s.ID, Status: trajectory.Cancelled})
			}
		}
	}
	if t.commands != nil || t.cost != nil {
		s := trajectory.State{Commands: t.commands}
		if t.cost != nil {
			s.Cost = &trajectory.Cost{Amount: *t.cost, Currency: "USD"}
		}
		o.add(at, s)
	}
	if t.stop != "" {
		o.add(at, trajectory.Stop{Reason: t.stop, Usage: t.usage})
	}
	t.Events = o.events
	return t
}

// Ended reports whether the program told of the turn's end.
func (o *Observer) Ended() bool { return o.turn.stop != "" || o.turn.Err != nil }

package trajectory

import (
	"errors"
	"fmt"
	"slices"
)

// Actor is who makes a call.
type Actor string

// The actors. An agent that does not tell which calls its sub-agents make seems to make them itself.
const (
	Main     Actor = "main"     // the agent that was prompted
	Subagent Actor = "subagent" // an agent that a call of the agent started: [ToolCall.Parent] is set
)

// Actors returns the actors.
func Actors() []Actor { return []Actor{Main, Subagent} }

// By returns the call expected of this actor only.
func (c Call) By(who Actor) Call {
	c.by = who
	if !slices.Contains(Actors(), who) {
		c.err = errors.Join(c.err, fmt.Errorf("unknown actor %q: want one of %q", who, Actors()))
	}
	return c
}

// made reports whether the actor, if one is meant, made the call.
func (a Actor) made(o *observed) bool { return a == "" || (a == Subagent) == (o.Parent != "") }

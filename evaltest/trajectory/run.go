package trajectory

import (
	"slices"
	"time"
)

// Run is everything an agent did in one unit, in the order in which it happened. The zero value is a run in which
// nothing happened.
type Run struct {
	// Agent says who acted.
	Agent Agent `json:"agent"`
	// Cwd is the directory the session ran in. In runs from a cassette or from the harness it is "$WORKSPACE", also in
	// the paths of their events.
	Cwd string `json:"cwd"`
	// Events are ordered by time; Turn never decreases.
	Events []Event `json:"events"`
}

// Agent identifies the agent of a run.
type Agent struct {
	Kind    string `json:"kind"`              // profile, e.g. "claude-code-acp"
	Name    string `json:"name,omitempty"`    // as the agent calls itself
	Version string `json:"version,omitempty"` // as the agent reports it
	Model   string `json:"model,omitempty"`   // as the playbook names it; empty: the agent's default
	// Modes are the names of the session modes that the agent was in: the one that it began with, then each that it
	// changed to. They are empty if it has none, or nothing is known of them.
	Modes []string `json:"modes,omitempty"`
}

// Event is one entry of a run: when it happened and what it was.
type Event struct {
	// Turn is the 1-based prompt turn in which it happened.
	Turn int
	// At is the time since the session began.
	At time.Duration
	// Body is one of the types below that implement Body; it is never nil.
	Body Body
}

// ToolCall is one tool call of a run: its start joined with its end.
type ToolCall struct {
	ID string
	// Parent is the ID of the call that started the sub-agent which made this call, empty for the main agent's calls.
	Parent string
	Name   string // the agent's name for the tool, e.g. "Read"; empty if the agent gives none
	Kind   string // ACP's category: read, edit, delete, move, search, execute, think, fetch, other
	Title  string
	// Args is the tool's input as decoded JSON (map[string]any, []any, string, json.Number, bool, nil). In runs made by
	// hand it may be any Go value that encoding/json can marshal.
	Args      any
	Locations []Location
	Status    Status
	// Output is the raw output as decoded JSON if the agent gives one, else the text it showed; nil if neither.
	Output any
	// Printed is what the call's command printed, if the agent shows it apart from the output.
	Printed string
	Diffs   []Diff
	// ExitCode is the exit code of a command, nil if there was none or it is unknown.
	ExitCode *int
	// Turn is the 1-based prompt turn in which the call started.
	Turn int
	// Group is the number of the call's group, from 1. Calls of one group were made together: before any of them had
	// ended, and without a message between them.
	Group int
	// Start is the time since the session began.
	Start time.Duration
	// Duration is the time from start to end, 0 if the call never ended or the duration is unknown.
	Duration time.Duration
}

// Status is the state of a tool call, as the agent reports it. A call that completed may still have failed: see
// [ToolCall.Outcome].
type Status string

// The states of a tool call, after the Agent Client Protocol, and Cancelled for calls that were open when their turn
// was cancelled.
const (
	Pending    Status = "pending"
	InProgress Status = "in_progress"
	Completed  Status = "completed"
	Failed     Status = "failed"
	Cancelled  Status = "cancelled"
)

// Outcome is a summary of how a tool call ended.
type Outcome string

// The outcomes of tool calls.
const (
	OutcomePending Outcome = "pending" // it never ended
	OutcomeOK      Outcome = "ok"
	OutcomeError   Outcome = "error" // the tool failed, or its command exited with another code than 0
)

// Outcome returns how the call ended.
func (c ToolCall) Outcome() Outcome {
	switch {
	case c.Status == Failed, c.ExitCode != nil && *c.ExitCode != 0:
		return OutcomeError
	case c.Status == Completed:
		return OutcomeOK
	}
	return OutcomePending
}

// ToolCalls returns the run's tool calls in the order in which they started.
func (r *Run) ToolCalls() []ToolCall {
	starts := 0
	for _, e := range r.Events {
		if _, ok := e.Body.(ToolStart); ok {
			starts++
		}
	}
	calls := slices.Grow([]ToolCall(nil), starts)
	open := make(map[string]int, starts)
	group, together := 0, false
	for _, e := range r.Events {
		switch b := e.Body.(type) {
		case Prompt, Message, Stop:
			together = false
		case ToolStart:
			if !together {
				group, together = group+1, true
			}
			open[b.ID] = len(calls)
			calls = append(calls, ToolCall{
				ID: b.ID, Parent: b.Parent, Name: b.Name, Kind: b.Kind, Title: b.Title, Args: b.Args,
				Locations: b.Locations, Status: Pending, Turn: e.Turn, Group: group, Start: e.At,
			})
		case ToolEnd:
			together = false
			i, ok := open[b.ID]
			if !ok {
				continue
			}
			c := &calls[i]
			c.Status, c.Output, c.Printed, c.Diffs, c.ExitCode = b.Status, b.Output, b.Printed, b.Diffs, b.ExitCode
			c.Duration = e.At - c.Start
		}
	}
	return calls
}

// Answer returns the agent's last message in the last turn, "" if there is none in that turn.
func (r *Run) Answer() string {
	if len(r.Events) == 0 {
		return ""
	}
	return r.AnswerOf(r.Events[len(r.Events)-1].Turn)
}

// AnswerOf returns the agent's last message in a turn, from 1, "" if there is none in that turn.
func (r *Run) AnswerOf(turn int) string {
	for _, e := range slices.Backward(r.Events) {
		if m, ok := e.Body.(Message); ok && e.Turn == turn {
			return m.Text
		}
	}
	return ""
}

// Turns returns the number of prompt turns.
func (r *Run) Turns() int {
	n := 0
	for _, e := range r.Events {
		n = max(n, e.Turn)
	}
	return n
}

// StopReasons returns why each turn ended, in order, after the Agent Client Protocol: end_turn, max_tokens,
// max_turn_requests, refusal, cancelled.
func (r *Run) StopReasons() []string {
	var reasons []string
	for _, e := range r.Events {
		if s, ok := e.Body.(Stop); ok {
			reasons = append(reasons, s.Reason)
		}
	}
	return reasons
}

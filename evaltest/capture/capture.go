// Package capture reads the tool calls that Claude Code's hooks captured, for agents that are not driven over the Agent
// Client Protocol.
//
//	calls, err := capture.Read("test-output/" + id + "/tool-calls.jsonl")
//	if err != nil {
//		t.Fatal(err) // nothing was captured, or not all of it
//	}
//	if got := calls.Tools(); !slices.Equal(got, []string{"Grep", "Read"}) {
//		t.Errorf("the agent called %v", got)
//	}
//	run := calls.Run() // a trajectory.Run, for the matchers of package trajectory
//
// `sdd-eval hook install` adds the hooks to Claude Code's settings. They append a line to the capture before each call
// and one after it.
package capture

import (
	"time"
)

// Capture is what hooks captured of one or more sessions. The zero value is a capture of nothing.
type Capture struct {
	// Calls are the tool calls, in the order in which they started.
	Calls []Call
	// Notes are oddities of the file that do not affect the calls above, a line each: a writer was killed while it
	// wrote the last line, a line is there twice, the start of a call was not captured.
	Notes []string
}

// Call is a tool call: the line before it joined with the line after it.
type Call struct {
	ID      string // tool_use_id
	Tool    string // tool_name, e.g. "Read" or "mcp__github__get_issue"
	Session string // session_id
	Agent   string // the id of the subagent that called, empty: the agent itself
	Prompt  string // the id of the user's prompt that it belongs to, empty: unknown
	Cwd     string
	State   State
	// Input is what the agent called the tool with, as decoded JSON (map[string]any, []any, string, json.Number, bool, nil).
	Input any
	// Rewritten is the input that a policy put in its place (--rewrite), nil if none did.
	Rewritten any
	// Output is what the tool answered, as decoded JSON; nil without an answer.
	Output any
	// ExitCode is that of a command, nil if there was none or it is unknown.
	ExitCode *int
	// Error is why the call failed, or why a policy denied it; empty in other states than [Error].
	Error string
	// Denied is true if a policy denied the call, so that the tool never ran.
	Denied bool
	// Start is when the call was captured, before it ran.
	Start time.Time
	// Duration is how long the tool ran, as the agent measured it, else the time between the two lines; 0 while pending.
	Duration time.Duration

	end time.Time // zero: there is no line after the call
}

// State is how a call ended.
type State string

// The states of a call.
const (
	Pending State = "pending" // no line after it: it was running, or waited for a permission, when the capture ended
	OK      State = "ok"
	Error   State = "error" // it failed, or a policy denied it
)

// Tools returns the names of the tools in the order in which they were called.
func (c Capture) Tools() []string {
	names := make([]string, len(c.Calls))
	for i, call := range c.Calls {
		names[i] = call.Tool
	}
	return names
}

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
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/claude"
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
	// Input is what the agent called the tool with, as decoded JSON (map[string]any, []any, string, json.Number, bool,
	// nil).
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
	// Duration is how long the tool ran, as the agent measured it, else the time between the two lines; 0 while
	// pending.
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

// Check reads the capture of an agent that reported these tools, a name for each call that ran. It detects hooks that
// silently fail because they are not installed, are switched off or their command is not found: a test that expects
// that some tool is not called would pass.
//
// An agent that reported nothing needs no capture. Otherwise, besides the errors of [Read], it is an error if there is
// no capture, or if a tool was reported more often than it was captured. Leave out calls that no hook can see: those of
// tools that do not exist, whose input is malformed, or that the hooks' matcher excludes.
func Check(path string, reported []string) (Capture, error) {
	c, err := Read(path)
	if errors.Is(err, fs.ErrNotExist) {
		if len(reported) == 0 {
			return c, hookErrors(path)
		}
		return c, fmt.Errorf("the agent reported %s (%s), and its hooks captured nothing: are they installed, "+
			"and can the agent run their command?\n%w", calls(len(reported)), listed(reported), err)
	}
	if missing := c.missing(reported); len(missing) > 0 {
		err = errors.Join(fmt.Errorf("the agent reported %s, and of these its hooks did not capture %s: %s",
			calls(len(reported)), calls(len(missing)), listed(missing)), err)
	}
	return c, err
}

// missing returns the tools that were not captured, each as often as it was reported too many times.
func (c Capture) missing(reported []string) []string {
	captured := make(map[string]int)
	for _, call := range c.Calls {
		captured[call.Tool]++
	}
	return slices.DeleteFunc(slices.Clone(reported), func(tool string) bool {
		captured[tool]--
		return captured[tool] >= 0
	})
}

func calls(n int) string {
	if n == 1 {
		return "1 call"
	}
	return fmt.Sprintf("%d calls", n)
}

// listed returns the first names of a list.
func listed(names []string) string {
	const most = 10
	if len(names) > most {
		return strings.Join(names[:most], ", ") + ", ..."
	}
	return strings.Join(names, ", ")
}

// callID names a call. Its id is the agent's word, and two sessions may use the same one.
type callID struct{ session, id string }

// joiner makes calls of lines.
type joiner struct {
	Capture
	index map[callID]int // of the call
}

// join makes calls of lines that are ordered by time. Lines that begin calls come first, since a clock that is set back
// may have put the end of a call before its beginning.
func join(lines []line) Capture {
	j := joiner{index: make(map[callID]int)}
	for i := range lines {
		if lines[i].Phase == claude.Pre {
			j.before(&lines[i])
		}
	}
	for i := range lines {
		if lines[i].Phase != claude.Pre {
			j.after(&lines[i])
		}
	}
	slices.SortStableFunc(j.Calls, func(a, b Call) int { return a.Start.Compare(b.Start) })
	return j.Capture
}

func (j *joiner) before(l *line) {
	id := callID{l.Session, l.ID}
	i, known := j.index[id]
	if !known {
		i = len(j.Calls)
		j.index[id] = i
		j.Calls = append(j.Calls, l.begin())
	} else {
		j.note(l, "the start of this call was captured before: are the hooks installed twice?")
	}
	j.Calls[i].decide(l)
}

func (j *joiner) after(l *line) {
	id := callID{l.Session, l.ID}
	i, known := j.index[id]
	switch {
	case !known:
		i = len(j.Calls)
		j.index[id] = i
		j.Calls = append(j.Calls, l.begin())
		j.note(l, "the start of this call was not captured")
	case !j.Calls[i].end.IsZero():
		j.note(l, "the end of this call was captured before: are the hooks installed twice?")
		return
	case j.Calls[i].Denied && l.Phase == claude.Post:
		j.note(l, "this call ran although it was denied")
	}
	c := &j.Calls[i]
	c.finish(l)
	if !known {
		c.Start = c.Start.Add(-c.Duration)
	}
}

func (j *joiner) note(l *line, what string) {
	j.Notes = append(j.Notes, fmt.Sprintf("line %d: %s %s: %s", l.number, l.Tool, l.ID, what))
}

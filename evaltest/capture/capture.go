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
// and one after it. Agents that are driven over a protocol need no capture: their runs have the calls.
package capture

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/claude"
)

// Capture is what hooks captured of one or more sessions. The zero value is empty.
type Capture struct {
	// Calls are the tool calls, in the order in which they started.
	Calls []Call
	// Notes describe oddities of the file that do not affect the calls, a line each: a writer was killed while it wrote
	// the last line, a line is duplicate, the start of a call was not captured.
	Notes []string
}

// Call is a tool call: the line before it joined with the line after it.
type Call struct {
	ID      string // tool_use_id
	Tool    string // tool_name, e.g. "Read" or "mcp__github__get_issue"
	Session string // session_id
	Agent   string // the id of the subagent that made the call; empty: the agent itself
	Prompt  string // the id of the user's prompt that it belongs to; empty: unknown
	Cwd     string
	State   State
	// Input is the input of the call, as decoded JSON (map[string]any, []any, string, json.Number, bool, nil).
	Input any
	// Rewritten is the input that a policy (--rewrite) replaced it with, nil if none did.
	Rewritten any
	// Output is the tool's output, as decoded JSON; nil if there is none.
	Output any
	// ExitCode is that of a command, nil if there was none or it is unknown.
	ExitCode *int
	// Error says why the call failed or why a policy denied it. It is empty unless State is [Error].
	Error string
	// Denied is true if a policy denied the call, so the tool never ran.
	Denied bool
	// Start is when the call was captured, before it ran.
	Start time.Time
	// Duration is how long the tool ran as the agent measured it, else the time between the two lines; 0 if pending.
	Duration time.Duration

	end time.Time // zero: no line after the call was captured
}

// State is how a call ended.
type State string

// The states of a call.
const (
	Pending State = "pending" // the capture ended while it was running or waiting for a permission
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
// fail silently because they are not installed, are switched off or their command is not found: a test that expects no
// call of some tool would pass.
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
		return c, fmt.Errorf("the agent reported %s (%s), but its hooks captured nothing: are they installed, "+
			"and can the agent run them?\n%w", calls(len(reported)), listed(reported), err)
	}
	if missing := c.missing(reported); len(missing) > 0 {
		err = errors.Join(fmt.Errorf("the agent reported %s, but its hooks missed %s: %s",
			calls(len(reported)), calls(len(missing)), listed(missing)), err)
	}
	return c, err
}

// missing returns the tools of the calls that were reported but not captured.
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

// callID identifies a call. The agent chooses the id, so two sessions may use the same one.
type callID struct{ session, id string }

// joiner joins lines to calls.
type joiner struct {
	Capture
	index map[callID]int // of the call
}

// join joins lines that are ordered by time to calls. It reads the lines that begin calls first, since the end of a
// call may come before its beginning if the clock was set back.
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

// kinds has the categories of Claude Code's tools, which its hooks do not know.
var kinds = map[string]string{
	"Read": "read", "NotebookRead": "read",
	"Write": "edit", "Edit": "edit", "MultiEdit": "edit", "NotebookEdit": "edit",
	"Bash": "execute", "BashOutput": "execute", "KillShell": "execute", "PowerShell": "execute",
	"Grep": "search", "Glob": "search", "LS": "search",
	"WebFetch": "fetch", "WebSearch": "fetch",
	"Agent": "think", "Task": "think", "TodoWrite": "think",
}

// Run returns the calls as a run, for the matchers of package trajectory. It holds tool calls only: hooks do not see
// what the agent says. Each prompt begins a turn; if prompts are unknown, there is one turn. Calls whose end was not
// captured are pending, those that a policy denied have failed.
func (c Capture) Run() trajectory.Run {
	run := trajectory.Run{Agent: trajectory.Agent{Name: "claude-code"}}
	if len(c.Calls) == 0 {
		return run
	}
	run.Cwd = c.Calls[0].Cwd
	began := c.Calls[0].Start
	turns := make(map[[2]string]int)
	turn := 0 // never decreases, although a session can return to an earlier prompt
	ids := make(map[string]bool)
	for _, call := range c.Calls {
		if ids[call.ID] { // in another session
			call.ID = call.Session + "/" + call.ID
		}
		ids[call.ID] = true
		prompt := [2]string{call.Session, call.Prompt}
		if turns[prompt] == 0 {
			turns[prompt] = len(turns) + 1
		}
		turn = max(turn, turns[prompt])
		run.Events = append(run.Events, trajectory.Event{Turn: turn, At: call.Start.Sub(began), Body: call.start()})
		if end, at := call.finished(); end != nil {
			run.Events = append(run.Events, trajectory.Event{Turn: turn, At: at.Sub(began), Body: end})
		}
	}
	slices.SortStableFunc(run.Events, func(a, b trajectory.Event) int { return cmp.Compare(a.At, b.At) })
	for i := 1; i < len(run.Events); i++ { // a call may end in a later turn
		run.Events[i].Turn = max(run.Events[i].Turn, run.Events[i-1].Turn)
	}
	return run
}

// start returns the start of the call, with a kind, a title and locations from the tool's name and input.
func (c Call) start() trajectory.ToolStart {
	s := trajectory.ToolStart{ID: c.ID, Name: c.Tool, Kind: cmp.Or(kinds[c.Tool], "other"), Args: c.Input}
	input, _ := c.Input.(map[string]any)
	switch s.Kind {
	case "execute":
		s.Title, _ = input["command"].(string)
	case "read", "edit":
		for _, key := range []string{"file_path", "notebook_path"} {
			if file, _ := input[key].(string); file != "" {
				s.Title = c.Tool + " " + path.Base(strings.ReplaceAll(file, `\`, "/"))
				s.Locations = []trajectory.Location{{Path: file}}
				break
			}
		}
	}
	return s
}

// finished returns the end of the call and its time, nil if the call has not ended.
func (c Call) finished() (trajectory.Body, time.Time) {
	if c.State == Pending {
		return nil, time.Time{}
	}
	end := trajectory.ToolEnd{ID: c.ID, Status: trajectory.Completed, Output: c.Output, ExitCode: c.ExitCode}
	if c.State == Error {
		end.Status = trajectory.Failed
		if c.Output == nil {
			end.Output = c.Error
		}
	}
	if kinds[c.Tool] == "execute" {
		end.Printed = printed(end.Output)
	}
	at := c.end
	if at.Before(c.Start) { // denied, or the clock was set back
		at = c.Start
	}
	return end, at
}

// printed returns what a command printed.
func printed(output any) string {
	switch o := output.(type) {
	case string:
		return o
	case map[string]any:
		stdout, _ := o["stdout"].(string)
		stderr, _ := o["stderr"].(string)
		if stdout != "" && stderr != "" {
			stdout += "\n"
		}
		return stdout + stderr
	default:
		return ""
	}
}

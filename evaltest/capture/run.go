package capture

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// kinds are the categories of Claude Code's tools, which its hooks do not tell.
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
	turn := 0 // of the call, as a session can go on with an earlier prompt
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

// start returns the beginning of the call, with what the name of the tool and its input tell.
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

// finished returns the end of the call, and when that was; nil if it has not ended.
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
	if at.Before(c.Start) { // denied, or by a clock that was set back
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

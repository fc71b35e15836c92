package mockdir

import (
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
	"github.com/sdd-eval/sdd-eval/internal/mock"
)

// Set is the servers of a variant that are played; nil: none is.
type Set []*mock.Server

// Call is a tool call of a session that a played server was asked.
type Call struct {
	trajectory.ToolCall
	Reply mock.Reply
}

// Calls are the calls of tools that the servers play, with how they were answered: that follows from the arguments
// alone, so it does not depend on what an agent tells of answers. The servers' own requests are what a call's arguments
// were; those of which the agent does not tell come last.
func (s Set) Calls(run *trajectory.Run) []Call {
	if len(s) == 0 {
		return nil
	}
	denied := denials(run)
	told, untold := askedFor(run.ToolCalls(), requests(run), denied)
	var all []Call
	for _, c := range told {
		if call, ok := s.answer(c); ok {
			switch {
			case denied[c.ID]:
				call.Reply = mock.Reply{Verdict: mock.Failed}
				call.Reply.Text, _ = c.Output.(string)
			case c.Outcome() == trajectory.OutcomePending && call.Reply.Verdict != mock.Refused:
				call.Reply = mock.Reply{Verdict: mock.Unserved}
			}
			all = append(all, call)
		}
	}
	for _, c := range untold {
		if call, ok := s.answer(c); ok {
			all = append(all, call)
		}
	}
	return all
}

// answer answers a call of a tool that a server plays.
func (s Set) answer(c trajectory.ToolCall) (Call, bool) {
	for _, server := range s {
		tool, ok := strings.CutPrefix(c.Name, mcpname.InServer(server.Name))
		if _, played := server.Tools[tool]; !ok || !played {
			continue
		}
		args, err := jsonvalue.Of(c.Args)
		if err != nil || args == nil {
			args = map[string]any{}
		}
		return Call{c, server.Call(tool, args)}, true
	}
	return Call{}, false
}

// askedFor gives calls of which an agent tells the arguments of the requests that they made, and returns the requests
// of which it does not tell. A call made the request of the same tool with the same arguments; some agents tell other
// arguments than they send.
func askedFor(calls, requests []trajectory.ToolCall, denied map[string]bool) (told, untold []trajectory.ToolCall) {
	made := make([]bool, len(calls))
	for _, exactly := range []bool{true, false} {
		for i, c := range calls {
			n := slices.IndexFunc(requests, func(r trajectory.ToolCall) bool {
				return c.Name == r.Name && (!exactly || jsonvalue.Compact(c.Args) == jsonvalue.Compact(r.Args))
			})
			if n >= 0 && !made[i] && !denied[c.ID] {
				made[i], calls[i].Args = true, requests[n].Args
				requests = slices.Delete(requests, n, n+1)
			}
		}
	}
	return calls, requests
}

// requests are the calls of tools that servers were asked for.
func requests(run *trajectory.Run) (all []trajectory.ToolCall) {
	for _, e := range run.Events {
		if c, ok := e.Body.(trajectory.MCPCall); ok && c.Tool != "" {
			all = append(all, trajectory.ToolCall{Name: mcpname.Of(c.Server, c.Tool), Args: c.Params})
		}
	}
	return all
}

// denials are the calls that were not permitted, by their ids.
func denials(run *trajectory.Run) map[string]bool {
	ids := make(map[string]bool)
	for _, e := range run.Events {
		p, ok := e.Body.(trajectory.Permission)
		if !ok {
			continue
		}
		allowed := slices.ContainsFunc(p.Options, func(o trajectory.PermissionOption) bool {
			return o.ID == p.Decision && strings.HasPrefix(o.Kind, "allow")
		})
		ids[p.ID] = !allowed
	}
	return ids
}

// Lines writes calls a line each, as the target mock_calls of plugin evals is.
func Lines(calls []Call) (string, error) {
	var lines []string
	for _, c := range calls {
		line := struct {
			Tool    string       `json:"tool"`
			Input   any          `json:"input"`
			Output  *string      `json:"output,omitempty"`
			IsError bool         `json:"isError,omitempty"`
			Verdict mock.Verdict `json:"verdict"`
		}{Tool: c.Name, Input: c.Args, Verdict: c.Reply.Verdict}
		if line.Verdict != mock.Unserved {
			line.Output, line.IsError = &c.Reply.Text, line.Verdict != mock.OK
		}
		data, err := jsonvalue.Marshal(line)
		if err != nil {
			return "", err
		}
		lines = append(lines, string(data))
	}
	return strings.Join(lines, "\n"), nil
}

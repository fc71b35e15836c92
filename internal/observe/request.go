package observe

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/localtools"
)

// permission handles a request for permission. Its tool call may not have been mentioned before.
func (o *Observer) permission(at time.Duration, id acp.ID, r acp.RequestPermissionRequest) {
	c := o.call(at, r.ToolCall.ToolCallID)
	c.ask(o, r.ToolCall)
	p, size := &trajectory.Permission{ID: c.id, Asked: Asked(c.asked.ToolStart)}, c.asked.sizes.input
	for _, opt := range r.Options {
		p.Options = append(p.Options, trajectory.PermissionOption{
			ID: opt.OptionID, Name: opt.Name,
			Kind: string(opt.Kind),
		})
		size += len(opt.OptionID) + len(opt.Name) + len(opt.Kind)
	}
	o.add(at, size, p)
	o.await(acp.ToClient, id, func(_ time.Duration, m acp.Message) {
		var answer acp.RequestPermissionResponse
		if m.Error != nil || json.Unmarshal(m.Result, &answer) != nil {
			text, _ := failure(m)
			p.Decision = "error: " + text
			return
		}
		if p.Decision = answer.Outcome.OptionID; p.Decision == "" {
			p.Decision = answer.Outcome.Outcome
		}
	})
}

// fileRead handles a request for a file.
func (o *Observer) fileRead(at time.Duration, id acp.ID, r acp.ReadTextFileRequest) {
	e := &trajectory.FileRead{Path: r.Path, Line: r.Line, Limit: r.Limit}
	o.add(at, len(r.Path), e)
	o.await(acp.ToClient, id, func(_ time.Duration, m acp.Message) {
		var answer acp.ReadTextFileResponse
		if e.Error, e.ErrorCode = failure(m); e.Error == "" && json.Unmarshal(m.Result, &answer) == nil {
			e.Text = answer.Content
			o.size += len(e.Text)
		}
	})
}

// fileWrite handles a request to write a file.
func (o *Observer) fileWrite(at time.Duration, id acp.ID, r acp.WriteTextFileRequest) {
	e := &trajectory.FileWrite{Path: r.Path, Text: r.Content}
	o.add(at, len(r.Path)+len(r.Content), e)
	o.await(acp.ToClient, id, func(_ time.Duration, m acp.Message) { e.Error, e.ErrorCode = failure(m) })
}

// terminal handles a request to run a command.
func (o *Observer) terminal(at time.Duration, id acp.ID, r acp.CreateTerminalRequest) {
	e := &trajectory.Terminal{Command: r.Command, Args: r.Args, Cwd: r.Cwd}
	size := len(r.Command) + len(r.Cwd)
	for _, arg := range r.Args {
		size += len(arg)
	}
	for _, v := range r.Env {
		size += len(v.Name)
		e.Env = append(e.Env, v.Name)
	}
	o.add(at, size, e)
	o.await(acp.ToClient, id, func(_ time.Duration, m acp.Message) {
		var answer acp.CreateTerminalResponse
		if e.Error, e.ErrorCode = failure(m); e.Error == "" && json.Unmarshal(m.Result, &answer) == nil {
			e.ID = answer.TerminalID
			o.terminals[e.ID], o.created[e.ID] = e, at // when it was asked for
		}
	})
}

// terminalProgress handles terminal/output and terminal/wait_for_exit, whose responses complete the terminal.
func (o *Observer) terminalProgress(m acp.Message) {
	var r acp.TerminalOutputRequest // both requests name the terminal alike
	if json.Unmarshal(m.Params, &r) != nil {
		return
	}
	t := o.terminals[r.TerminalID]
	if t == nil {
		return
	}
	exited := func(at time.Duration, code *int, signal string) {
		t.ExitCode, t.Signal = code, signal
		if t.Duration == 0 {
			t.Duration = at - o.created[r.TerminalID]
		}
	}
	o.await(acp.ToClient, m.ID, func(at time.Duration, answer acp.Message) {
		if answer.Error != nil {
			return
		}
		if m.Method == "terminal/wait_for_exit" {
			var exit acp.WaitForTerminalExitResponse
			if json.Unmarshal(answer.Result, &exit) == nil {
				exited(at, exit.ExitCode, exit.Signal)
			}
			return
		}
		var out acp.TerminalOutputResponse
		if json.Unmarshal(answer.Result, &out) != nil {
			return
		}
		o.size += len(out.Output) - len(t.Output)
		t.Output, t.Truncated = out.Output, out.Truncated
		if out.ExitStatus != nil {
			exited(at, out.ExitStatus.ExitCode, out.ExitStatus.Signal)
		}
	})
}

// MCP takes a request to an MCP server and its response, which came at the given time.
func (o *Observer) MCP(at time.Time, c trajectory.MCPCall) {
	size := len(encoded(c))
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return
	}
	o.begin(at)
	if c.IsDiscovery() && o.isNew(c) {
		o.discoveries = append(o.discoveries, c)
		o.size += EventSize + size
	} else {
		o.add(at.Sub(o.start), size, c)
		o.tell(c)
	}
	o.checkLimit()
}

// isNew reports whether the discovery request is the first of its kind. A repeated one may have another response,
// because of what the agent did in between.
func (o *Observer) isNew(c trajectory.MCPCall) bool {
	request := encoded(trajectory.MCPCall{Server: c.Server, Method: c.Method, Params: c.Params})
	known := o.discovered[request]
	o.discovered[request] = true
	return !known
}

// addDiscoveries inserts the discovery requests after the turn's prompt, sorted by server. Agents start servers while
// they do other things, so the order in which the requests came says nothing.
func (o *Observer) addDiscoveries() {
	if len(o.discoveries) == 0 {
		return
	}
	slices.SortStableFunc(o.discoveries,
		func(a, b trajectory.MCPCall) int { return strings.Compare(a.Server, b.Server) })
	prompt := slices.IndexFunc(o.events, func(e trajectory.Event) bool {
		_, ok := e.Body.(trajectory.Prompt)
		return ok
	})
	var at time.Duration
	if len(o.events) > 0 {
		at = o.events[max(prompt, 0)].At
	}
	events := make([]trajectory.Event, len(o.discoveries))
	for i, c := range o.discoveries {
		events[i] = trajectory.Event{Turn: cmp.Or(o.turn, 1), At: at, Body: c}
	}
	o.events = slices.Insert(o.events, prompt+1, events...)
	o.discoveries = nil
}

// encoded returns a request as JSON.
func encoded(c trajectory.MCPCall) string {
	data, err := json.Marshal(c)
	if err != nil {
		panic(fmt.Sprintf("observe: the MCP request is not JSON: %v", err))
	}
	return string(data)
}

// ErrorCode returns the JSON-RPC code of an error that an event keeps as a text and a code. For most errors the text
// determines the code, and the event has code 0.
func ErrorCode(text string, code int) int {
	switch _, denied := localtools.ParseDenied(text); {
	case code != 0:
		return code
	case denied:
		return acp.CodeInvalidParams
	case strings.HasPrefix(text, "Resource not found: "):
		return acp.CodeResourceNotFound
	}
	return acp.CodeInternal
}

// failure returns the error of a response as events keep it, empty if there is none.
func failure(m acp.Message) (text string, code int) {
	if m.Error == nil {
		return "", 0
	}
	if m.Error.Code == ErrorCode(m.Error.Message, 0) {
		return m.Error.Message, 0
	}
	return m.Error.Message, m.Error.Code
}

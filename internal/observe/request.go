package observe

import (
	"encoding/json"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// permission handles a question of the agent; its tool call may not have been mentioned before.
func (o *Observer) permission(at time.Duration, id acp.ID, r acp.RequestPermissionRequest) {
	c := o.call(at, r.ToolCall.ToolCallID)
	c.change(o, at, r.ToolCall)
	p, size := &trajectory.Permission{ID: c.id, Asked: Asked(*c.start)}, c.sizes.input
	for _, opt := range r.Options {
		p.Options = append(p.Options, trajectory.PermissionOption{ID: opt.OptionID, Name: opt.Name, Kind: string(opt.Kind)})
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
			o.held += len(e.Text)
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
			o.terminals[e.ID] = e
		}
	})
}

// terminalProgress handles terminal/output and terminal/wait_for_exit, whose answers complete the terminal.
func (o *Observer) terminalProgress(m acp.Message) {
	var r acp.TerminalOutputRequest // both requests name the terminal alike
	if json.Unmarshal(m.Params, &r) != nil {
		return
	}
	t := o.terminals[r.TerminalID]
	if t == nil {
		return
	}
	o.await(acp.ToClient, m.ID, func(_ time.Duration, answer acp.Message) {
		if answer.Error != nil {
			return
		}
		if m.Method == "terminal/wait_for_exit" {
			var exit acp.WaitForTerminalExitResponse
			if json.Unmarshal(answer.Result, &exit) == nil {
				t.ExitCode, t.Signal = exit.ExitCode, exit.Signal
			}
			return
		}
		var out acp.TerminalOutputResponse
		if json.Unmarshal(answer.Result, &out) != nil {
			return
		}
		o.held += len(out.Output) - len(t.Output)
		t.Output, t.Truncated = out.Output, out.Truncated
		if out.ExitStatus != nil {
			t.ExitCode, t.Signal = out.ExitStatus.ExitCode, out.ExitStatus.Signal
		}
	})
}

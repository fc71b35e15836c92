package convert

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/mcpname"
)

// copilotOther are the types of events that say nothing about the conversation, as of Copilot 1.0.102: they are about
// the program, or say again what the events that are read have said.
var copilotOther = []string{
	"assistant.idle", "assistant.intent", "assistant.message_delta", "assistant.message_start", "assistant.reasoning",
	"assistant.reasoning_delta", "assistant.streaming_delta", "assistant.tool_call_delta", "assistant.turn_end",
	"assistant.turn_start", "assistant.usage", "capabilities.changed", "command.completed", "command.execute",
	"command.queued", "commands.changed", "elicitation.completed", "elicitation.requested",
	"exit_plan_mode.completed", "exit_plan_mode.requested", "external_tool.completed", "external_tool.requested",
	"hook.end", "hook.start", "mcp.oauth_completed", "mcp.oauth_required", "model.call_finished", "model.call_start",
	"pending_messages.modified", "permission.completed", "permission.requested", "sampling.completed",
	"sampling.requested", "session.auto_mode_resolved", "session.autopilot_objective_changed",
	"session.background_tasks_changed", "session.binary_asset", "session.compaction_start",
	"session.completion_receipt", "session.context_changed", "session.custom_agents_updated",
	"session.extensions_loaded", "session.idle", "session.info", "session.mcp_server_status_changed",
	"session.mcp_servers_loaded", "session.mode_notice_delivered", "session.model_change",
	"session.permissions_changed", "session.plan_changed", "session.remote_steerable_changed", "session.resume",
	"session.schedule_cancelled", "session.schedule_created", "session.schedule_rearmed",
	"session.session_limits_changed", "session.skills_loaded", "session.title_changed", "session.tools_updated",
	"session.usage_checkpoint", "session.usage_info", "session.workspace_file_changed", "subagent.completed",
	"subagent.configured", "subagent.deselected", "subagent.failed", "subagent.started", "system.message",
	"system.notification", "tool.execution_partial_result", "tool.execution_progress", "tool_search.activated",
	"user_input.completed", "user_input.requested",
}

// copilotNotices are the types of events that change what the agent can know or do.
var copilotNotices = []string{
	"session.compaction_complete", "session.context_cleared", "session.truncation", "session.warning",
	"skill.invoked", "subagent.selected",
}

// copilotEvent is a line of a log, with the fields of the types that are read.
type copilotEvent struct {
	Type      string `json:"type"`
	Timestamp string `json:"timestamp"`
	Data      *struct {
		// session.start
		SessionID string `json:"sessionId"`
		Version   string `json:"copilotVersion"`
		Context   struct {
			Cwd string `json:"cwd"`
		} `json:"context"`
		// user.message and assistant.message
		Content   string                    `json:"content"`
		Source    string                    `json:"source"`
		Model     string                    `json:"model"`
		Reasoning string                    `json:"reasoningText"`
		Requests  []copilotCall             `json:"toolRequests"`
		Parent    string                    `json:"parentToolCallId"` // of what a subagent said and did
		Usage     *copilotUsage             `json:"usage"`            // session.usage_record
		Success   *bool                     `json:"success"`          // tool.execution_complete
		Result    *copilotResult            `json:"result"`
		Error     *struct{ Message string } `json:"error"`
		Shell     *struct{ ExitCode *int }  `json:"shellExecution"`
		Edits     []struct{ Path string }   `json:"fileEdits"`
		copilotCall
		// the rest
		Mode     string `json:"newMode"`
		Message  string `json:"message"`
		Summary  string `json:"summary"`
		Shutdown string `json:"shutdownType"`
		Reason   string `json:"errorReason"`
	} `json:"data"`
}

// copilotCall is a call that the model asked for, or that began. A tool of an MCP server has the server's name and its
// own.
type copilotCall struct {
	ID        string `json:"toolCallId"`
	Tool      string `json:"toolName"`
	Name      string `json:"name"`
	Server    string `json:"mcpServerName"`
	MCPTool   string `json:"mcpToolName"`
	Arguments any    `json:"arguments"`
}

type copilotUsage struct {
	Input      int64 `json:"inputTokens"`
	Output     int64 `json:"outputTokens"`
	CacheRead  int64 `json:"cacheReadTokens"`
	CacheWrite int64 `json:"cacheWriteTokens"`
	Reasoning  int64 `json:"reasoningTokens"`
}

type copilotResult struct {
	Content  string `json:"content"`
	Detailed string `json:"detailedContent"`
}

// copilotReader reads a log of Copilot.
type copilotReader struct {
	*builder
	ignore []string
	began  bool
	users  map[string]bool // ids of calls that the user made
}

func readCopilot(path string, o Options) (*Session, error) {
	r := copilotReader{builder: newBuilder(), ignore: o.Ignore, users: make(map[string]bool)}
	if err := eachOf(path, r.event); err != nil {
		return nil, err
	}
	return r.file(path, o, Copilot, "copilot")
}

func (r *copilotReader) event(e copilotEvent) error {
	switch {
	case !r.began && e.Type != "session.start":
		return errors.New("a log of Copilot must begin with session.start")
	case slices.Contains(r.ignore, e.Type), slices.Contains(copilotOther, e.Type):
		return nil
	case e.Data == nil:
		return fmt.Errorf("the event %.60q has no data", e.Type)
	}
	at, err := parseTime(e.Timestamp)
	if err != nil {
		return err
	}
	if slices.Contains(copilotNotices, e.Type) {
		r.note(at, trajectory.Notice{Name: "copilot:" + e.Type, Data: noticeText(cmp.Or(e.Data.Message, e.Data.Name))})
		return nil
	}
	switch d := e.Data; e.Type {
	case "session.start":
		if r.began {
			return errors.New("a second session begins in the file")
		}
		r.began = true
		r.about.ID, r.about.Version, r.about.Cwd = d.SessionID, d.Version, d.Context.Cwd
	case "session.mode_changed":
		r.note(at, trajectory.State{Mode: d.Mode})
	case "user.message":
		return r.user(at, e)
	case "assistant.message":
		return r.assistant(at, e)
	case "tool.user_requested":
		r.users[d.ID] = true
		r.note(at, trajectory.Notice{Name: "copilot:tool.user_requested", Data: noticeText(d.name())})
	case "tool.execution_start":
		if _, known := r.calls[d.ID]; !known && !r.users[d.ID] {
			return r.begin(at, d.copilotCall, d.Parent)
		}
	case "tool.execution_complete":
		if !r.users[d.ID] {
			return r.result(at, r.toolEnd(e))
		}
	case "session.usage_record":
		if u := d.Usage; u != nil {
			return r.spend(spent{u.Input, u.Output, u.CacheRead, u.CacheWrite, u.Reasoning, u.Input + u.Output})
		}
	case "session.task_complete":
		if t := r.turn(); d.Summary != "" && t != nil && !t.said {
			return r.act(at, trajectory.Message{Text: d.Summary})
		}
	case "abort":
		r.cancel(at)
	case "session.error":
		r.note(at, trajectory.Notice{Name: "copilot:session.error", Data: noticeText(d.Message)})
		r.failed = fmt.Sprintf("%.200s", cmp.Or(d.Message, "unknown error"))
	case "session.shutdown":
		if d.Shutdown == "error" {
			r.failed = fmt.Sprintf("%.200s", cmp.Or(d.Reason, "the program failed"))
		}
	case "session.snapshot_rewind":
		return errors.New("the user took turns back, and the file does not say which: it cannot be read")
	case "session.handoff":
		return errors.New("a part of the session ran elsewhere; its calls are not in the file")
	default:
		return unknownType(e.Type)
	}
	return nil
}

// noticeText returns the data of a notice: nil if there is no text.
func noticeText(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// user adds a message that is not the agent's: of the user, of the program, or to a subagent.
func (r *copilotReader) user(at time.Time, e copilotEvent) error {
	switch source := e.Data.Source; {
	case strings.HasPrefix(source, "agent-"), e.Data.Parent != "":
		r.note(at, trajectory.Notice{Name: "subagent:prompt", Data: noticeText(e.Data.Content)})
	case source != "" && source != "user":
		name := "copilot:user." + fmt.Sprintf("%.60s", source)
		r.note(at, trajectory.Notice{Name: name, Data: noticeText(e.Data.Content)})
	case strings.HasPrefix(e.Data.Content, "<system_notification>"):
		r.note(at, trajectory.Notice{Name: "copilot:notification", Data: e.Data.Content})
	default:
		if t := r.turn(); t != nil && len(t.open) > 0 && t.stop == "" {
			return errors.New("the user sent a message during a turn, which a unit cannot do")
		}
		r.prompt(at, e.Data.Content)
	}
	return nil
}

// assistant adds an answer of the model: of the agent, or of a subagent.
func (r *copilotReader) assistant(at time.Time, e copilotEvent) error {
	d := e.Data
	if d.Parent != "" {
		if d.Content != "" {
			r.note(at, trajectory.Notice{Name: "subagent:message", Data: d.Content})
		}
	} else {
		r.about.Agent.Model = cmp.Or(r.about.Agent.Model, d.Model)
		if d.Reasoning != "" {
			if err := r.act(at, trajectory.Thought{Text: d.Reasoning}); err != nil {
				return err
			}
		}
		if d.Content != "" {
			if err := r.act(at, trajectory.Message{Text: d.Content}); err != nil {
				return err
			}
		}
	}
	for _, c := range d.Requests {
		if err := r.begin(at, c, d.Parent); err != nil {
			return err
		}
	}
	return nil
}

// name returns the name of the tool.
func (c copilotCall) name() string {
	if c.Server != "" && c.MCPTool != "" {
		return mcpname.Of(c.Server, c.MCPTool)
	}
	return cmp.Or(c.Name, c.Tool)
}

// begin begins a call. The parent is the call that started the subagent that made it, empty if the agent did.
func (r *copilotReader) begin(at time.Time, c copilotCall, parent string) error {
	start := newCall(c.ID, c.name(), c.Arguments)
	start.Parent = parent
	return r.call(at, start)
}

// copilotShell is the line about a command that follows its output.
var copilotShell = lazyregexp.New(`\n?<shellId: [^>\n]* completed with exit code -?\d+>\s*$`)

// toolEnd returns the end of a call. As on the wire, a command that failed is a call that succeeded.
func (r *copilotReader) toolEnd(e copilotEvent) trajectory.ToolEnd {
	d := e.Data
	end := trajectory.ToolEnd{ID: d.ID, Status: trajectory.Completed}
	if d.Success == nil || !*d.Success {
		end.Status = trajectory.Failed
	}
	var output string
	switch {
	case d.Result != nil:
		output = d.Result.Content
		if len(d.Edits) == 1 {
			end.Diffs = patchDiffs(d.Edits[0].Path, d.Result.Detailed)
		}
	case d.Error != nil:
		output = d.Error.Message
	}
	if d.Shell != nil {
		end.ExitCode = d.Shell.ExitCode
	}
	if isShell(r.tools[d.ID]) {
		end.Printed = copilotShell.ReplaceAllString(output, "")
	} else {
		end.Output = noticeText(output)
	}
	return end
}

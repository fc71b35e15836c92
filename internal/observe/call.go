package observe

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/claude"
)

// call is a tool call as it becomes known. Agents mention it first in an update, in a permission request or, some of
// them, twice in a tool_call, and send its input later.
type call struct {
	id      string
	start   *trajectory.ToolStart // what tells of the call
	tells   description           // what start says, and where it is from
	asked   *description          // as the agent described it when it last asked for permission; nil: it has not
	end     *trajectory.ToolEnd   // nil while it is open
	shown   string                // text content, which is the output if there is no raw output
	output  any
	printed strings.Builder
	exit    *int
	usage   *acp.Usage // what it was last told to have taken of the model

	terminals []string // ids of the terminals that the call shows
	sizes     struct{ content, output int }
	counted   int // how much of the call Observer.size includes
}

// size returns the size of everything known about the call, in bytes.
func (c *call) size() int {
	return len(c.id) + c.tells.size() + c.printed.Len() + c.sizes.content + c.sizes.output
}

// call returns the call with this id. If there is none, it starts one.
func (o *Observer) call(at time.Duration, id string) *call {
	if c, ok := o.calls[id]; ok {
		return c
	}
	c := &call{id: id, start: &trajectory.ToolStart{ID: id}}
	c.tells.ID = id
	o.calls[id] = c
	o.add(at, 0, c.start)
	o.total++
	if o.OnCall != nil {
		o.OnCall(o.total)
	}
	return c
}

// open returns the calls of this turn that have not ended, in the order of their starts.
func (o *Observer) open() []*call {
	var calls []*call
	for _, e := range o.events {
		if s, ok := e.Body.(*trajectory.ToolStart); ok && o.calls[s.ID].end == nil {
			calls = append(calls, o.calls[s.ID])
		}
	}
	return calls
}

// Asked returns the description of a tool call in a request for permission.
func Asked(c trajectory.ToolStart) *trajectory.AskedCall {
	asked := &trajectory.AskedCall{Name: c.Name, Args: c.Args}
	if c.Args == nil {
		asked.Title = c.Title
	}
	return asked
}

// replace takes a tool_call.
func (c *call) replace(o *Observer, at time.Duration, u acp.ToolCall) {
	update := acp.ToolCallUpdate{
		Content: u.Content, Locations: u.Locations, RawInput: u.RawInput, RawOutput: u.RawOutput, Extra: u.Extra,
	}
	if u.Title != "" {
		update.Title = &u.Title
	}
	if u.Name != "" {
		update.Name = &u.Name
	}
	if u.Kind != "" {
		update.Kind = &u.Kind
	}
	if u.Status != "" {
		update.Status = &u.Status
	}
	c.change(o, at, update)
}

// ask takes the tool call inside a permission request. What the agent says there is its view at that time, made for
// who decides; of the call itself it only tells what is not known otherwise.
func (c *call) ask(o *Observer, u acp.ToolCallUpdate) {
	asked := c.tells
	asked.take(u, o.names(), inRequest)
	if asked.name == c.tells.name && c.tells.Name != "" { // the request does not name the tool
		asked.Name = c.tells.Name
	}
	c.asked = &asked
	c.describe(o, c.tells.lacking(u), inRequest)
	o.resize(&c.counted, c.size())
}

// describe takes what an update, or a request for permission, says of what the call is.
func (c *call) describe(o *Observer, u acp.ToolCallUpdate, where source) {
	c.tells.take(u, o.names(), where)
	if agent := readMeta[meta](u.Meta).Copilot.AgentID; agent != "" && c.tells.Parent == "" {
		c.tells.Parent = o.starter(agent, c)
	}
	*c.start = c.tells.ToolStart
	o.tell(*c.start)
}

// change takes a tool_call_update.
func (c *call) change(o *Observer, at time.Duration, u acp.ToolCallUpdate) {
	c.describe(o, u, inUpdate)
	if u.Content != nil {
		c.content(u.Content)
	}
	meta := readMeta[meta](u.Meta)
	if out := decoded(u.RawOutput); out != nil {
		c.output, c.sizes.output = out, len(u.RawOutput)
	}
	if meta.TerminalOutput.Data != "" {
		c.printed.Reset()
		c.printed.WriteString(meta.TerminalOutput.Data)
	}
	c.printed.WriteString(meta.TerminalOutputDelta.Data)
	if used := readMeta[usageMeta](u.Meta).Usage; used != nil && !reflect.DeepEqual(used, c.usage) { // said again
		c.usage = used
		o.spend(used)
	}
	if code := meta.TerminalExit.ExitCode; code != nil {
		c.exit = code
	}
	if u.Status != nil && (*u.Status == acp.StatusCompleted || *u.Status == acp.StatusFailed) {
		c.close(o, at, trajectory.Status(*u.Status))
	}
	c.complete(o)
	o.resize(&c.counted, c.size())
}

// close ends the call. If it has ended before, only its status changes.
func (c *call) close(o *Observer, at time.Duration, s trajectory.Status) {
	if c.end == nil {
		c.end = &trajectory.ToolEnd{ID: c.id}
		o.add(at, 0, c.end)
	}
	c.end.Status = s
	c.complete(o)
}

// complete sets the result of a call that has ended to what is known by now. Agents may send more of it after the end.
func (c *call) complete(o *Observer) {
	if c.end == nil {
		return
	}
	c.end.Diffs = c.tells.diffs
	c.end.Output = c.output
	c.end.Printed = c.printed.String()
	if c.shown != "" && lacksText(c.output) {
		c.end.Output = c.shown
	}
	c.end.ExitCode = c.exitCode(o)
}

// exitCode returns the exit code in the agent's metadata, else the one in the result, else that of a terminal that the
// call shows, else the one that the text about a failed command begins with (Claude).
func (c *call) exitCode(o *Observer) *int {
	if c.exit != nil {
		return c.exit
	}
	if code := outputExitCode(c.output); code != nil {
		return code
	}
	for _, id := range c.terminals {
		if t := o.terminals[id]; t != nil && t.ExitCode != nil {
			return t.ExitCode
		}
	}
	if c.start.Kind != "execute" || c.end.Status != trajectory.Failed {
		return nil
	}
	output, _ := c.end.Output.(string)
	return claude.ExitCode(cmp.Or(c.end.Printed, output))
}

// content replaces what the call shows, but for its diffs.
func (c *call) content(content []acp.ToolCallContent) {
	var texts []string
	for _, item := range content {
		switch item := item.(type) {
		case acp.Content:
			texts = append(texts, blockText(item.Content))
		case acp.Terminal:
			if !slices.Contains(c.terminals, item.TerminalID) {
				c.terminals = append(c.terminals, item.TerminalID)
			}
		}
	}
	c.shown = strings.Join(texts, "\n")
	c.sizes.content = len(c.shown)
	for _, id := range c.terminals {
		c.sizes.content += len(id)
	}
}

func emptyObject(v any) bool {
	m, ok := v.(map[string]any)
	return ok && len(m) == 0
}

// outputExitCode returns the exit code in a raw output: exit_code for Codex, exitCode for Qwen, metadata.exit for
// OpenCode, contents[].exitCode for Copilot.
func outputExitCode(output any) *int {
	m, ok := output.(map[string]any)
	if !ok {
		return nil
	}
	if code := cmp.Or(integer(m["exit_code"]), integer(m["exitCode"])); code != nil {
		return code
	}
	if meta, ok := m["metadata"].(map[string]any); ok {
		return integer(meta["exit"])
	}
	contents, _ := m["contents"].([]any)
	for _, c := range contents {
		if part, ok := c.(map[string]any); ok && part["type"] == "shell_exit" {
			return integer(part["exitCode"])
		}
	}
	return nil
}

// lacksText reports whether a raw output has no text but that of the content: it is nil, empty (Qwen, for files that it
// read) or has only an exit code (@agentclientprotocol/codex-acp, for commands).
func lacksText(output any) bool {
	if output == nil || output == "" {
		return true
	}
	m, ok := output.(map[string]any)
	return ok && len(m) == 1 && m["exit_code"] != nil
}

func integer(v any) *int {
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	i, err := n.Int64()
	if err != nil {
		return nil
	}
	code := int(i)
	return &code
}

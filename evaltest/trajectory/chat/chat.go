// Package chat reads and writes trajectories as messages of chat models, in the form that AgentEvals and others use: a
// list of messages with a role, of which those of the assistant may have tool calls with arguments as JSON text.
// Formats of single tools belong in package convert, not here.
package chat

import (
	"encoding/json"
	"fmt"
	"strconv"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// Message is one message of a conversation.
type Message struct {
	// Role is user, assistant, tool or another.
	Role string `json:"role"`
	// Content is what the message says. Content in parts is kept, but only text is read.
	Content   Content    `json:"content"`
	ToolCalls []ToolCall `json:"tool_calls,omitempty"`
	// ToolCallID is the id of the call whose result a message of the role tool is.
	ToolCallID string `json:"tool_call_id,omitempty"`
}

// Content is a text. In JSON it may also be null, for no text, or a list of parts, whose texts are joined.
type Content string

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Content) UnmarshalJSON(data []byte) error {
	var parts []struct {
		Text string `json:"text"`
	}
	if err := json.Unmarshal(data, &parts); err == nil {
		*c = ""
		for _, p := range parts {
			*c += Content(p.Text)
		}
		return nil
	}
	return json.Unmarshal(data, (*string)(c))
}

// ToolCall is a call of a tool.
type ToolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"` // "function"
	Function Function `json:"function"`
}

// Function is the tool of a call and its arguments.
type Function struct {
	Name string `json:"name"`
	// Arguments is JSON text.
	Arguments string `json:"arguments"`
}

// Run returns the run that the messages describe. Each message of the user begins a turn, and the calls of one message
// are one group. Run numbers the calls, since conversations may use ids more than once. Messages of other roles and
// results of unknown calls become notices.
func Run(messages []Message) (*trajectory.Run, error) {
	r := reader{run: &trajectory.Run{}}
	for i := range messages {
		if err := r.read(&messages[i]); err != nil {
			return nil, fmt.Errorf("message %d: %w", i+1, err)
		}
	}
	return r.run, nil
}

type reader struct {
	run    *trajectory.Run
	turn   int
	calls  int
	open   map[string][]string // calls without a result, by their ids in the conversation
	latest bool                // calls were made after the last message that says something
}

func (r *reader) add(body trajectory.Body) {
	r.run.Events = append(r.run.Events, trajectory.Event{Turn: max(r.turn, 1), Body: body})
}

func (r *reader) read(m *Message) error {
	text := string(m.Content)
	switch m.Role {
	case "user":
		r.turn++
		r.latest = false
		r.add(trajectory.Prompt{Text: text})
	case "assistant":
		if text != "" || r.latest {
			r.add(trajectory.Message{Text: text}) // parts this message's calls from those before
		}
		r.latest = false
	case "tool":
		ids := r.open[m.ToolCallID]
		if len(ids) == 0 {
			r.add(trajectory.Notice{Name: "tool", Data: text})
			return nil
		}
		r.add(trajectory.ToolEnd{ID: ids[0], Status: trajectory.Completed, Output: text})
		r.open[m.ToolCallID] = ids[1:]
	default:
		r.add(trajectory.Notice{Name: m.Role, Data: text})
	}
	for i, c := range m.ToolCalls {
		var args any
		if err := jsonvalue.Decode([]byte(c.Function.Arguments), &args); err != nil {
			return fmt.Errorf("call %d, %q: arguments: %w", i+1, c.Function.Name, err)
		}
		if r.open == nil {
			r.open = make(map[string][]string)
		}
		r.calls++
		id := "c" + strconv.Itoa(r.calls)
		r.open[c.ID] = append(r.open[c.ID], id)
		r.latest = true
		r.add(trajectory.ToolStart{ID: id, Name: c.Function.Name, Args: args})
	}
	return nil
}

// Messages returns the run as messages: prompts, what the agent said, its tool calls with those made together in one
// message, and their results. What chat models do not have, such as thoughts and permissions, is left out. Arguments
// that are not JSON are an error.
func Messages(run *trajectory.Run) ([]Message, error) {
	messages := []Message{}
	speaks := false // the last message is the agent's and may take calls
	group := 0
	groups := make(map[string]int)
	for _, c := range run.ToolCalls() {
		groups[c.ID] = c.Group
	}
	for _, e := range run.Events {
		switch b := e.Body.(type) {
		case trajectory.Prompt:
			messages = append(messages, Message{Role: "user", Content: Content(b.Text)})
			speaks = false
		case trajectory.Message:
			messages = append(messages, Message{Role: "assistant", Content: Content(b.Text)})
			speaks = true
		case trajectory.ToolStart:
			text, err := encode(b.Args)
			if err != nil {
				return nil, fmt.Errorf("call %s, %q: arguments: %w", b.ID, b.Name, err)
			}
			if !speaks && groups[b.ID] != group {
				messages = append(messages, Message{Role: "assistant"})
			}
			speaks, group = false, groups[b.ID]
			last := &messages[len(messages)-1]
			last.ToolCalls = append(last.ToolCalls,
				ToolCall{ID: b.ID, Type: "function", Function: Function{Name: b.Name, Arguments: text}})
		case trajectory.ToolEnd:
			text, err := output(b)
			if err != nil {
				return nil, fmt.Errorf("call %s: result: %w", b.ID, err)
			}
			messages = append(messages, Message{Role: "tool", Content: Content(text), ToolCallID: b.ID})
			speaks = false
		}
	}
	return messages, nil
}

func encode(args any) (string, error) {
	if args == nil {
		return "{}", nil
	}
	text, err := json.Marshal(args)
	return string(text), err
}

// output returns what the agent saw of the result of a call.
func output(end trajectory.ToolEnd) (string, error) {
	switch out := end.Output.(type) {
	case nil:
		return end.Printed, nil
	case string:
		return out, nil
	default:
		text, err := json.Marshal(out)
		return string(text), err
	}
}

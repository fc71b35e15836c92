package playbook

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Message is a message that a case expects.
type Message struct {
	// Role is user, assistant, tool or system.
	Role string
	// Content is its text; structured content is JSON.
	Content string
	// ToolCalls are the calls that the message makes.
	ToolCalls []MessageCall
}

// MessageCall is a call of a tool that a case expects.
type MessageCall struct {
	Tool string `yaml:"tool,required" doc:"The tool's name."`
	// Input and Output are as [Node.Value] returns them, nil if they are not given.
	Input  any `yaml:"input" doc:"Its arguments."`
	Output any `yaml:"output" doc:"Its result."`
}

// input is what an agent is asked: a text, or a list of messages, each a turn.
type input []string

// inputMessage is one message of an input. Messages of other roles than user are refused with the reason.
type inputMessage struct {
	Role    string  `yaml:"role,required" enum:"user,system,assistant,tool" doc:"Always user."`
	Content content `yaml:"content,required" doc:"What the agent is asked, verbatim."`
}

// unsendable says why messages of other roles than user cannot be sent to an agent.
var unsendable = map[string]string{
	"system": "agents have a system prompt of their own, which nobody can replace: write the text into the question, or into the " +
		"workspace as the file that the agent reads its instructions from",
	"assistant": "nobody can put words into the agent's mouth: leave the message out, the agent gives its own answer to each message " +
		"of role user",
	"tool": "results come from the tools that the agent calls itself: leave the message out",
}

func (in *input) decode(n *doc.Node) {
	if n.Kind() != doc.List {
		var text string
		if n.Decode(&text) {
			*in = input{text}
			checkNotBlank(n, text)
		}
		return
	}
	var messages []inputMessage
	n.Decode(&messages)
	items := n.Items()
	if len(items) == 0 {
		n.Errorf("", "must not be empty")
	}
	for i, m := range messages {
		if reason := unsendable[m.Role]; reason != "" {
			items[i].Errorf("role", "%s", reason)
			continue
		}
		if text := items[i].Get("content"); text.Kind() == doc.Map {
			text.Errorf("", "must be a text or a list of texts: an agent is asked in words")
		} else if text.Kind() == doc.String || text.Kind() == doc.List {
			checkNotBlank(text, string(m.Content))
		}
		*in = append(*in, string(m.Content))
	}
}

// expectation is what a case expects to be said: the text or the structured content of one answer, or a list of messages.
type expectation []Message

type expectedMessage struct {
	Role      string        `yaml:"role,required" enum:"user,assistant,tool,system" doc:"Who says it."`
	Content   content       `yaml:"content" doc:"What is said: a text, a list of texts, or structured."`
	ToolCalls []MessageCall `yaml:"tool_calls" min:"1" doc:"The calls of tools that it makes."`
}

func (e *expectation) decode(n *doc.Node) {
	if n.Kind() != doc.List {
		var c content
		c.decode(n)
		*e = expectation{{Role: "assistant", Content: string(c)}}
		return
	}
	var messages []expectedMessage
	n.Decode(&messages)
	items := n.Items()
	if len(items) == 0 {
		n.Errorf("", "must not be empty")
	}
	for i, m := range messages {
		if items[i].Kind() == doc.Map && items[i].Get("content") == nil && items[i].Get("tool_calls") == nil {
			items[i].Errorf("", "a message has `content` or `tool_calls`")
		}
		*e = append(*e, Message{Role: m.Role, Content: string(m.Content), ToolCalls: m.ToolCalls})
	}
}

// content is what a message says, as text. A list of texts is joined by newlines, a mapping becomes JSON.
type content string

type contentPart struct {
	Type  string `yaml:"type,required" enum:"text,file" doc:"Always text."`
	Value string `yaml:"value,required" doc:"The text."`
}

func (c *content) decode(n *doc.Node) {
	switch n.Kind() {
	case doc.List:
		var parts []contentPart
		n.Decode(&parts)
		if len(n.Items()) == 0 {
			n.Errorf("", "must not be empty")
		}
		texts := make([]string, len(parts))
		for i, p := range parts {
			if p.Type == "file" {
				n.Errorf(fmt.Sprintf("[%d].type", i), "files are not read: write the text here, or give the agent the file, with `workspace` or `files`")
			}
			texts[i] = p.Value
		}
		*c = content(strings.Join(texts, "\n"))
	case doc.Map:
		text, err := json.Marshal(n.Value())
		if err != nil {
			n.Errorf("", "%v", err)
		}
		*c = content(text)
	default:
		n.Decode((*string)(c))
	}
}

func checkNotBlank(n *doc.Node, text string) {
	if strings.TrimSpace(text) == "" {
		n.Errorf("", "must not be empty")
	}
}

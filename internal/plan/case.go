package plan

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// Task is the one thing that a playbook without cases asks for. Its case has the id "task".
type Task struct {
	Title    string       `yaml:"title" min:"1" doc:"A line for people, and for the first prompt of a loop."`
	Prompt   string       `yaml:"prompt,required" doc:"What the agent is asked."`
	Position doc.Position `yaml:",position"`
}

// Case is one thing that the variants are asked to do.
type Case struct {
	ID string `yaml:"id,required" pattern:"id" doc:"Unique in the playbook; part of names and paths."`

	// Prompt is the only prompt. A case has either a prompt or prompts.
	Prompt string `yaml:"prompt" min:"1" doc:"What the agent is asked, verbatim. Either prompt or prompts."`

	// Prompts are what the agent is asked, one per turn. A single prompt is its only element.
	Prompts []string `yaml:"prompts" min:"1" doc:"What the agent is asked, a turn each. Either prompt or prompts."`

	ExpectedOutcome string `yaml:"expected_outcome" doc:"What a good session comes to, for judges."`
	ReferenceAnswer string `yaml:"reference_answer" doc:"An answer that is known to be right, for judges."`

	// Files are written into the workspace before the agent starts: path below the workspace, with slashes, to text.
	Files map[string]string `yaml:"files" doc:"Files to write into the workspace first, by path."`

	// Workspace is what is copied over the workspace before Files are written.
	Workspace playbook.Additions `yaml:"workspace" doc:"Directories and files to copy over the workspace first."`

	// Evaluators judge this case, in addition to the playbook's.
	Evaluators []Evaluator `yaml:"evaluators" min:"1" doc:"What must hold for this case, beside the playbook's."`

	// Fires and Silent are the skills and tools that must be used, and that must not be: one of Evaluators judges that.
	Fires  []string `yaml:"fires" min:"1" doc:"Skills and tools that the agent must use."`
	Silent []string `yaml:"silent" min:"1" doc:"Skills and tools that the agent must not use."`

	// ExpectStop takes the place of the playbook's. ExpectedAt is where it stands.
	ExpectStop []Stop `yaml:"expect_stop" min:"1" doc:"How this case's session should end; default: the playbook's."`
	ExpectedAt doc.Position

	// ExpectedMessages are what a good session says and calls, for judges. Only eval files have them.
	ExpectedMessages []Message

	// Variants are the ids of the variants that are asked; nil: all that the matrix lists. Only eval files name them.
	Variants []string

	Position doc.Position `yaml:",position"`
}

func (c *Case) decode(n *doc.Node) {
	n.Decode(c)
	if n.Kind() != doc.Map {
		return // reported
	}
	if (n.Get("prompt") != nil) == (n.Get("prompts") != nil) {
		n.Errorf("", "a case has exactly one of `prompt` and `prompts`")
	}
	for i, prompt := range n.Get("prompts").Items() {
		if prompt.Kind() == doc.String && strings.TrimSpace(prompt.Text()) == "" {
			n.Errorf(fmt.Sprintf("prompts[%d]", i), "must not be empty")
		}
	}
	if c.Prompt != "" {
		c.Prompts = []string{c.Prompt}
	}
	checkGiven(n)
	c.Evaluators = append(c.Evaluators, activationOf(n)...)
	c.ExpectedAt = n.Get("expect_stop").Position()
}

// checkGiven checks what a case at n puts into the workspace.
func checkGiven(n *doc.Node) {
	checkFiles(n.Get("files"))
	checkTargets(n.Get("workspace").Get("add"))
}

// LaysFiles reports whether the case puts files into the workspace.
func (c Case) LaysFiles() bool { return len(c.Files)+len(c.Workspace.Add) > 0 }

func checkFiles(files *doc.Node) {
	for _, file := range files.Entries() {
		if !fs.ValidPath(file.Key) || file.Key == "." || strings.ContainsAny(file.Key, `\:`) {
			file.Value.Errorf("", "%q must be a path below the workspace, with slashes", file.Key)
		}
	}
}

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
	"system": "agents have a system prompt of their own, which nobody can replace: write the text into the question, " +
		"or into the workspace as the file that the agent reads its instructions from",
	"assistant": "nobody can put words into the agent's mouth: leave the message out, the agent gives its own answer " +
		"to each message of role user",
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
			text.Errorf("", "must be a text or a list of texts")
		} else if text.Kind() == doc.String || text.Kind() == doc.List {
			checkNotBlank(text, string(m.Content))
		}
		*in = append(*in, string(m.Content))
	}
}

// expectation is what a case expects to be said: the text or the structured content of one answer, or a list of
// messages.
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
				n.Errorf(fmt.Sprintf("[%d].type", i),
					"files are not read: write the text here, or give the agent the file, with `workspace` or `files`")
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

package modelserver

import (
	"encoding/json"
	"regexp"
	"strings"
)

// request is what scripts are chosen by, whatever API it came through.
type request struct {
	// prompt is the user's last prompt, without what the agent adds to it.
	prompt string
	// prompts counts the user's prompts so far.
	prompts int
	// results are the texts of the tool results since prompt, in order.
	results []string
	tools   []tool
	// cwd is the session's working directory, "" if the request does not tell.
	cwd string
	// aside says that the request is about something beside the user's task, such as a title for the session.
	aside bool
	// schema, if not nil, is the JSON schema that the answer has to follow.
	schema *schema
	// stream says that the answer must be a stream of events.
	stream bool
	// thoughts says that the request asks for reasoning to be shown.
	thoughts bool
}

// tool is a tool that a request offers.
type tool struct {
	name string
	// freeText says that the tool's input is text, not JSON.
	freeText bool
}

// schema is as much of a JSON schema as is needed to answer a side request.
type schema struct {
	Properties map[string]struct {
		Type string `json:"type"`
	} `json:"properties"`
}

func (r request) toolNames() []string {
	names := make([]string, len(r.tools))
	for i, t := range r.tools {
		names[i] = t.name
	}
	return names
}

// said takes in a message of the user: the texts of its parts and the results of tools among them, in order.
func (r *request) said(parts []part) {
	fresh := true // the next text begins a prompt
	for _, p := range parts {
		if p.result {
			r.results = append(r.results, p.text)
			fresh = true
			continue
		}
		if n := len(r.results); n > 0 && strings.HasPrefix(p.text, skill) {
			r.results[n-1] += "\n" + p.text
			continue
		}
		if addition.MatchString(p.text) {
			r.look(p.text)
			continue
		}
		if strings.TrimSpace(p.text) == "" {
			continue
		}
		if fresh {
			r.prompt, r.results, fresh = p.text, nil, false
			r.prompts++
		} else {
			r.prompt += "\n" + p.text
		}
	}
}

// look searches text that the agent gave the model for the session's working directory.
func (r *request) look(text string) {
	if r.cwd != "" {
		return
	}
	if m := cwd.FindStringSubmatch(text); m != nil {
		r.cwd = strings.Join(m[1:], "") // one of them
	}
}

// skill is how the text of a skill begins, which Claude sends as the user's behind the result of its tool Skill.
const skill = "Base directory for this skill: "

var (
	// addition matches what agents add to the user's messages on their own account.
	addition = regexp.MustCompile(`^\s*<(system-reminder|environment_context|session_context|user_instructions|turn_aborted)>` +
		`|^# AGENTS\.md instructions|^\[Request interrupted by user`)
	// cwd finds the working directory in the words of Claude Code, of Codex and of Gemini.
	cwd = regexp.MustCompile(`(?m)[Ww]orking directory: (/[^\n]*?)\s*$|<cwd>(/[^<]*)</cwd>|Workspace Directories:\*\*\n  - (/[^\n]*)$`)
)

// part is a piece of a message: text, or the result of a tool call.
type part struct {
	text   string
	result bool
}

// content is the content of a message or of a tool result in either API: a string, or a list of blocks.
type content []block

// block is a piece of content; of the kinds without text only the type is kept.
type block struct {
	Type    string  `json:"type"`
	Text    string  `json:"text"`
	Content content `json:"content"` // of an Anthropic tool_result
}

func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	return json.Unmarshal(data, (*[]block)(c))
}

// text joins the texts of c.
func (c content) text() string {
	var texts []string
	for _, b := range c {
		if b.Text != "" {
			texts = append(texts, b.Text)
		}
	}
	return strings.Join(texts, "\n")
}

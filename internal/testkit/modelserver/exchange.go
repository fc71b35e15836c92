package modelserver

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// request is the neutral form of a request of any API. It decides which script answers.
type request struct {
	// prompt is the user's last prompt, without what the agent adds to it.
	prompt string
	// prompts counts the user's prompts so far.
	prompts int
	// results are the texts of the tool results since prompt, in order.
	results []string
	tools   []tool
	// told is what the agent tells beside the prompts: its instructions, the skills that there are.
	told string
	// cwd is the session's working directory, "" if the request does not tell.
	cwd string
	// aside means that the request is not about the user's task but, for example, a title for the session.
	aside bool
	// schema, if not nil, is the JSON schema that the answer has to follow.
	schema *schema
	// stream means that the answer must be a stream of events.
	stream bool
	// thoughts means that the request asks for reasoning.
	thoughts bool
}

// tool is a tool that a request offers.
type tool struct {
	name string
	// namespace is that of the tool, empty if it has none.
	namespace string
	// freeText means that the tool's input is text, not JSON.
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

// said adds a message of the user to r: the texts of its parts and the results of tools among them, in order.
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

// look keeps a text that the agent tells beside the prompts, and searches it for the session's working directory.
func (r *request) look(text string) {
	if text = strings.TrimSpace(text); text != "" {
		r.told += text + "\n"
	}
	if r.cwd != "" {
		return
	}
	if m := cwd.FindStringSubmatch(text); m != nil {
		r.cwd = strings.Join(m[1:], "") // one of them
	}
}

// skill is the beginning of a skill's text, which Claude sends as the user's, after the result of its tool Skill.
const skill = "Base directory for this skill: "

var (
	// addition matches texts that agents add to the user's messages.
	addition = regexp.MustCompile(
		`^\s*<(system-reminder|environment_context|session_context|user_instructions|turn_aborted)>` +
			`|^# AGENTS\.md instructions|^\[Request interrupted by user`)
	// cwd matches the working directory in the texts of Claude Code and Copilot, Codex, Gemini, and Qwen.
	cwd = regexp.MustCompile(
		`(?m)[Ww]orking directory: (/[^\n]*?)\s*$|<cwd>(/[^<]*)</cwd>|Workspace Directories:\*\*\n  - (/[^\n]*)$` +
			`|working in the directory: (/[^\n]*?)\s*$`)
)

// part is a piece of a message: text, or the result of a tool call.
type part struct {
	text   string
	result bool
}

// content is the content of a message or of a tool result in either API: a string, or a list of blocks.
type content []block

// block is a piece of content. Only the type is kept of the kinds without text.
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

// answer is the neutral form of the model's answer to a request. Ids and usage depend on the script alone, so that two
// sessions with the same script are equal.
type answer struct {
	id    string // of the message, without the API's prefix
	turn  Turn
	usage usage
}

// usage counts tokens.
type usage struct{ input, output int }

// asideTokens is the answer to requests that count tokens.
const asideTokens = 1000

// answer returns the answer to r, after the model's latency.
func (s *Server) answer(ctx context.Context, r request) (answer, error) {
	if r.aside {
		// No usage: agents add it to a session's cost whenever the answer happens to arrive.
		return answer{id: "aside", turn: Turn{Say: asideText(r.schema)}}, nil
	}
	step, err := choose(s.model.Scripts, r)
	if err != nil {
		return answer{}, err
	}
	if err := s.think(ctx); err != nil {
		return answer{}, err
	}
	if !r.thoughts {
		step.turn.Think = ""
	}
	return answer{
		id:    fmt.Sprintf("%s_%d_%d", notID.ReplaceAllString(step.script, "_"), r.prompts, step.index+1),
		turn:  step.turn,
		usage: usage{input: asideTokens + 200*step.index, output: 50 + 25*len(step.turn.Calls)},
	}, nil
}

// think waits for the model's latency.
func (s *Server) think(ctx context.Context) error {
	select {
	case <-time.After(s.Latency):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// callID returns the id of the answer's call i, from 0, without the API's prefix.
func (a answer) callID(i int) string { return fmt.Sprintf("%s_%d", a.id, i+1) }

// notID matches what ids may not hold.
var notID = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// asideText answers a request that is not about the user's task: harmless text, or the smallest object that s takes.
func asideText(s *schema) string {
	const text = "Scripted session"
	if s == nil {
		return text
	}
	object := make(map[string]any)
	for name, p := range s.Properties {
		switch strings.ToLower(p.Type) { // Gemini has it in upper case
		case "string":
			object[name] = text
		case "boolean":
			object[name] = false
		case "integer", "number":
			object[name] = 1
		case "array":
			object[name] = []any{}
		case "object":
			object[name] = map[string]any{}
		}
	}
	return compact(object)
}

// events writes server-sent events.
type events struct {
	ctx   context.Context
	w     http.ResponseWriter
	flush func() error
	pause time.Duration
	err   error // of the first write that failed; later writes do nothing
}

func (s *Server) newEvents(w http.ResponseWriter, r *http.Request) *events {
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-cache")
	return &events{ctx: r.Context(), w: w, flush: http.NewResponseController(w).Flush, pause: s.Pause}
}

// part begins the answer's part i, after a pause in which the part before can arrive.
func (e *events) part(i int) {
	if i == 0 || e.err != nil || e.pause == 0 {
		return
	}
	select {
	case <-time.After(e.pause):
	case <-e.ctx.Done():
		e.err = e.ctx.Err()
	}
}

// send sends v, whose type is also the event's.
func (e *events) send(v map[string]any) {
	e.write(fmt.Sprintf("event: %s\ndata: %s\n\n", v["type"], compact(v)))
}

// data sends v as an event without a type.
func (e *events) data(v any) { e.write("data: " + compact(v) + "\n\n") }

func (e *events) write(event string) {
	if e.err != nil {
		return
	}
	if _, e.err = e.w.Write([]byte(event)); e.err == nil {
		e.err = e.flush()
	}
}

// pieces cuts text into pieces of one event each, like those of a real model, so that readers must join them.
func pieces(text string) []string {
	const size = 48 // characters
	var list []string
	for chunk := range slices.Chunk([]rune(text), size) {
		list = append(list, string(chunk))
	}
	return list
}

// compact returns v as JSON on one line.
func compact(v any) string {
	data, err := jsonvalue.Marshal(v)
	if err != nil {
		panic("modelserver: encode a decoded value: " + err.Error())
	}
	return string(data)
}

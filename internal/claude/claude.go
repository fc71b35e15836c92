// Package claude has the types that Claude Code's output, its transcripts, its hooks and the captures of these share.
// What only one of them has belongs in the package that reads it.
package claude

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Message is a message of the conversation with the model. An answer consists of one or more with the same id.
type Message struct {
	ID         string  `json:"id"`
	Model      string  `json:"model"`
	Content    Content `json:"content"`
	StopReason string  `json:"stop_reason"` // one of [Stops]
	Usage      *Usage  `json:"usage"`
}

// Synthetic is the model of messages that the program itself writes in the agent's name.
const Synthetic = "<synthetic>"

// Stops maps the model's stop reasons to those of the Agent Client Protocol for the turn; empty: the turn goes on.
var Stops = map[string]string{
	"end_turn": "end_turn", "stop_sequence": "end_turn", "max_tokens": "max_tokens",
	"model_context_window_exceeded": "max_tokens", "refusal": "refusal", "tool_use": "", "pause_turn": "", "": "",
}

// OutOfTokens reports whether the program says of an error that an answer was longer than the model may write, or that
// the conversation is longer than it can read: its turn then ends as after the stop reason max_tokens.
func OutOfTokens(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, "prompt is too long") || strings.Contains(text, "output token maximum")
}

// Usage counts tokens. Input excludes those of the cache.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

// Content is a list of blocks. In JSON a text may stand for a list of one.
type Content []Block

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) != nil {
		return json.Unmarshal(data, (*[]Block)(c))
	}
	*c = nil
	if text != "" {
		*c = Content{{Type: "text", Text: text}}
	}
	return nil
}

// Text returns the texts of the blocks, a line each, and the types of other blocks.
func (c Content) Text() string {
	texts := make([]string, len(c))
	for i, b := range c {
		if texts[i] = b.Text; b.Type != "text" {
			texts[i] = "[" + b.Type + "]"
		}
	}
	return strings.Join(texts, "\n")
}

// Block is a part of a message.
type Block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	CallID   string          `json:"tool_use_id"`
	Content  json.RawMessage `json:"content"` // of a result
	Failed   bool            `json:"is_error"`
}

// ResultContent returns the content of a tool's result. It is an error if that is neither text nor blocks.
func (b Block) ResultContent() (c Content, err error) {
	if b.Content == nil {
		return nil, nil
	}
	return c, json.Unmarshal(b.Content, &c)
}

// Command is the structured result of the tool Bash, which the model does not see. A command that failed has none.
type Command struct {
	Stdout         *string `json:"stdout"`
	Stderr         *string `json:"stderr"`
	Interrupted    bool    `json:"interrupted"`
	Image          bool    `json:"isImage"`
	Background     string  `json:"backgroundTaskId"`
	Interpretation string  `json:"returnCodeInterpretation"` // of an exit code that is neither 0 nor a failure
}

// ExitsZero reports whether the exit code of a command that did not fail is known to be 0.
func (c Command) ExitsZero() bool {
	return c.Background == "" && !c.Interrupted && c.Interpretation == ""
}

// ExitCode returns the exit code in the text about a command that failed, nil if there is none.
func ExitCode(text string) *int {
	for _, words := range []string{"Exit code ", "Exited with code "} {
		rest, ok := strings.CutPrefix(text, words)
		if !ok {
			continue
		}
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		after, _ := utf8.DecodeRuneInString(rest[digits:])
		code, err := strconv.Atoi(rest[:digits])
		if err != nil || after == '_' || after < utf8.RuneSelf && unicode.IsLetter(after) {
			return nil
		}
		return &code
	}
	return nil
}

// Change is the structured result of the tools Edit and Write, which the model does not see.
type Change struct {
	Path     string  `json:"filePath"`
	Old      *string `json:"oldString"`    // of an edit
	New      *string `json:"newString"`    // of an edit
	Content  *string `json:"content"`      // of a file that was written
	Original *string `json:"originalFile"` // nil: the file is new
	Patch    []Hunk  `json:"structuredPatch"`
}

// Hunk is a part of a patch. Its lines begin with a blank, a minus or a plus.
type Hunk struct {
	NewStart int      `json:"newStart"`
	Lines    []string `json:"lines"`
}

// Phase says when a hook of Claude Code runs.
type Phase string

// The phases, as the command line and the lines of a capture name them.
const (
	Pre     Phase = "pre"     // before a call
	Post    Phase = "post"    // after one that went well
	Failure Phase = "failure" // after one that failed
)

// Phases lists the phases in the order of settings.
var Phases = []Phase{Pre, Post, Failure}

// Event returns Claude Code's name for the phase.
func (p Phase) Event() string {
	return map[Phase]string{Pre: "PreToolUse", Post: "PostToolUse", Failure: "PostToolUseFailure"}[p]
}

// CaptureLine has the fields that are read of a line of a capture, which a hook writes.
type CaptureLine struct {
	Time      time.Time `json:"timestamp"`
	Phase     Phase     `json:"phase"`
	Tool      string    `json:"tool_name"`
	ID        string    `json:"tool_use_id"`
	Session   string    `json:"session_id"`
	Agent     string    `json:"agent_id"`
	Prompt    string    `json:"prompt_id"`
	Cwd       string    `json:"cwd"`
	Input     any       `json:"tool_input"`
	Denied    string    `json:"denied"`
	Rewritten any       `json:"rewritten_input"`
	Output    any       `json:"tool_output"`
	ExitCode  *int      `json:"exit_code"`
	Error     any       `json:"error"`
	Millis    *float64  `json:"duration_ms"`
}

// OwnFields lists the fields of a line that the hook adds to the payload.
var OwnFields = []string{"timestamp", "phase", "tool_output", "exit_code", "denied", "rewritten_input"}

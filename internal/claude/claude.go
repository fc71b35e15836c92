// Package claude knows what Claude Code writes in the same words wherever it writes it: as its output, into its
// transcripts and to its hooks.
package claude

import (
	"encoding/json"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Message is one of the conversation with the model. An answer comes in several, which have its id.
type Message struct {
	ID         string  `json:"id"`
	Model      string  `json:"model"`
	Content    Content `json:"content"`
	StopReason string  `json:"stop_reason"` // one of [Stops]
	Usage      *Usage  `json:"usage"`
}

// Synthetic is the model of what the program says in the agent's name.
const Synthetic = "<synthetic>"

// Stops are the reasons for which the model ends an answer, and why the turn ends with it, after the Agent Client
// Protocol; empty: the turn goes on.
var Stops = map[string]string{
	"end_turn": "end_turn", "stop_sequence": "end_turn", "max_tokens": "max_tokens",
	"model_context_window_exceeded": "max_tokens", "refusal": "refusal", "tool_use": "", "pause_turn": "", "": "",
}

// Usage are tokens. Input does not count those of the cache.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

// Content is a list of blocks; a text is one of them.
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

// Text returns the texts of the blocks, a line each. Anything else is named by its type.
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

// Command is what the tool Bash returned, beside what the model is told. Of a command that failed there is none.
type Command struct {
	Stdout         *string `json:"stdout"`
	Stderr         *string `json:"stderr"`
	Interrupted    bool    `json:"interrupted"`
	Image          bool    `json:"isImage"`
	Background     string  `json:"backgroundTaskId"`
	Interpretation string  `json:"returnCodeInterpretation"` // of an exit code that is not 0 and yet no failure
}

// ExitsZero reports whether the exit code of a command that did not fail is known, and so 0.
func (c Command) ExitsZero() bool {
	return c.Background == "" && !c.Interrupted && c.Interpretation == ""
}

// ExitCode returns the exit code that a text tells of a command that failed, nil if it tells none.
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

// Change is what the tools Edit and Write returned, beside what the model is told.
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

package claudecli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// line is what the model says, or what it is told.
type line struct {
	Parent    string  `json:"parent_tool_use_id"` // of what a subagent does: the call that started it
	Synthetic bool    `json:"isSynthetic"`        // what the program says in the user's name
	Message   message `json:"message"`

	// ToolUseResult is what a tool returned as the program has it, beside what the model is told.
	ToolUseResult json.RawMessage `json:"tool_use_result"`
}

// message is one of the conversation with the model.
type message struct {
	Model   string  `json:"model"`
	Content content `json:"content"`
}

// content is a list of blocks; a text is one of them.
type content []block

// UnmarshalJSON implements [json.Unmarshaler].
func (c *content) UnmarshalJSON(data []byte) error {
	var text string
	if json.Unmarshal(data, &text) == nil {
		*c = content{{Type: "text", Text: text}}
		return nil
	}
	var blocks []block
	err := json.Unmarshal(data, &blocks)
	*c = blocks
	return err
}

// text returns the texts of the blocks, a line each. Anything else is named by its type.
func (c content) text() string {
	texts := make([]string, len(c))
	for i, b := range c {
		if texts[i] = b.Text; b.Type != "text" {
			texts[i] = "[" + b.Type + "]"
		}
	}
	return strings.Join(texts, "\n")
}

// block is a part of a message.
type block struct {
	Type     string          `json:"type"`
	Text     string          `json:"text"`
	Thinking string          `json:"thinking"`
	ID       string          `json:"id"`
	Name     string          `json:"name"`
	Input    json.RawMessage `json:"input"`
	CallID   string          `json:"tool_use_id"`
	Content  json.RawMessage `json:"content"`
	Failed   bool            `json:"is_error"`
}

// initLine is the first line of a process.
type initLine struct {
	Session  string   `json:"session_id"`
	Version  string   `json:"claude_code_version"`
	Model    string   `json:"model"`
	Commands []string `json:"slash_commands"`
	Servers  []struct {
		Name   string `json:"name"`
		Status string `json:"status"`
	} `json:"mcp_servers"`
}

// resultLine is the last line of a process.
type resultLine struct {
	Subtype    string   `json:"subtype"`
	Failed     bool     `json:"is_error"`
	StopReason string   `json:"stop_reason"`
	Result     string   `json:"result"`
	Errors     []string `json:"errors"`
	Status     int      `json:"api_error_status"` // of the model's answer
	Cost       *float64 `json:"total_cost_usd"`   // of the session
	Usage      *usage   `json:"usage"`            // of the process
	Denials    []denial `json:"permission_denials"`
}

// denial is a call that was not permitted. It has a line of its own, and is in the result.
type denial struct {
	Tool string `json:"tool_name"`
	ID   string `json:"tool_use_id"`
}

// usage are tokens. Input does not count those of the cache.
type usage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_input_tokens"`
	CacheWrite int64 `json:"cache_creation_input_tokens"`
}

// unmarshal reads a line as what its type has. The error does not show the line, which may be long.
func unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("a line of the agent's output that cannot be read: %w", err)
	}
	return nil
}

// decoded returns JSON as Go values with numbers kept exact, nil if there is none.
func decoded(raw json.RawMessage) any {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

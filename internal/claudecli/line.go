package claudecli

import (
	"encoding/json"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// line is what the model says, or what it is told.
type line struct {
	Parent    string         `json:"parent_tool_use_id"` // of what a subagent does: the call that started it
	Synthetic bool           `json:"isSynthetic"`        // what the program says in the user's name
	Message   claude.Message `json:"message"`

	// ToolUseResult is what a tool returned as the program has it, beside what the model is told.
	ToolUseResult json.RawMessage `json:"tool_use_result"`
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
	Subtype    string        `json:"subtype"`
	Failed     bool          `json:"is_error"`
	StopReason string        `json:"stop_reason"`
	Result     string        `json:"result"`
	Errors     []string      `json:"errors"`
	Status     int           `json:"api_error_status"` // of the model's answer
	Cost       *float64      `json:"total_cost_usd"`   // of the session
	Usage      *claude.Usage `json:"usage"`            // of the process
	Denials    []denial      `json:"permission_denials"`
}

// denial is a call that was not permitted. It has a line of its own, and is in the result.
type denial struct {
	Tool string `json:"tool_name"`
	ID   string `json:"tool_use_id"`
}

// unmarshal reads a line as what its type has. The error does not show the line, which may be long.
func unmarshal(data []byte, v any) error {
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("a line of the agent's output that cannot be read: %w", err)
	}
	return nil
}

// decoded returns JSON as Go values with numbers kept exact, nil if there is none.
func decoded(raw json.RawMessage) (v any) {
	_ = jsonvalue.Decode(raw, &v)
	return v
}

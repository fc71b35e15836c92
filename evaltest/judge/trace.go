package judge

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// TraceSummary counts what the agent did.
type TraceSummary struct {
	// EventCount is the number of tool calls.
	EventCount int `json:"event_count"`
	// ToolNames are the tools that were called, sorted.
	ToolNames       []string       `json:"tool_names"`
	ToolCallsByName map[string]int `json:"tool_calls_by_name"`
	// ErrorCount is the number of tool calls that failed.
	ErrorCount int `json:"error_count"`
	// TokenUsage and CostUSD are nil if the agent reports none.
	TokenUsage *TokenUsage `json:"token_usage,omitempty"`
	CostUSD    *float64    `json:"cost_usd,omitempty"`
	// DurationMS is how long the session took, in milliseconds; nil: unknown.
	DurationMS *float64 `json:"duration_ms,omitempty"`
	// ToolDurations are how long the calls of each tool took, in milliseconds.
	ToolDurations map[string][]float64 `json:"tool_durations,omitempty"`

	// Text is the summary if it came as a text without a JSON object; then nothing else is known.
	Text string `json:"-"`
}

// TokenUsage counts tokens.
type TokenUsage struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
	// Cached is how many tokens of the input were read from a cache; nil: unknown.
	Cached *int64 `json:"cached,omitempty"`
}

// UnmarshalJSON reads an object, or a text, which may contain an object.
func (t *TraceSummary) UnmarshalJSON(data []byte) error {
	type plain TraceSummary // without this method
	var text string
	if json.Unmarshal(data, &text) != nil {
		return json.Unmarshal(data, (*plain)(t))
	}
	*t = TraceSummary{}
	if bytes.HasPrefix(bytes.TrimSpace([]byte(text)), []byte("{")) {
		if err := json.Unmarshal([]byte(text), (*plain)(t)); err != nil {
			return fmt.Errorf("trace_summary: %w", err)
		}
		return nil
	}
	t.Text = text
	return nil
}

// MarshalJSON writes an object, or the text.
func (t TraceSummary) MarshalJSON() ([]byte, error) {
	if t.Text != "" {
		return json.Marshal(t.Text)
	}
	type plain TraceSummary // without this method
	t.ToolNames = orEmpty(t.ToolNames)
	if t.ToolCallsByName == nil {
		t.ToolCallsByName = map[string]int{}
	}
	return json.Marshal(plain(t))
}

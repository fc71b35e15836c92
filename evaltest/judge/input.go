package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// Version is the version of the format of an [Input].
const Version = 1

// Input is the input of a judge: one trial of one unit. Question and CandidateAnswer are always present.
type Input struct {
	// Question is the prompt. Several prompts are separated by empty lines.
	Question         string    `json:"question"`
	ExpectedOutcome  string    `json:"expected_outcome"`
	ExpectedMessages []Message `json:"expected_messages"`
	ReferenceAnswer  string    `json:"reference_answer"`
	// CandidateAnswer is the agent's last message of the last turn.
	CandidateAnswer string `json:"candidate_answer"`
	// OutputMessages are what the agent said and did; nil: unknown.
	OutputMessages []Message `json:"output_messages"`
	GuidelineFiles []string  `json:"guideline_files"`
	InputFiles     []string  `json:"input_files"`
	// InputMessages are the prompts, one message per turn.
	InputMessages []Message `json:"input_messages"`
	// TraceSummary counts what the agent did; nil: nothing was counted.
	TraceSummary *TraceSummary `json:"trace_summary"`
	// Config is the judge's configuration, as JSON from the playbook; nil: there is none.
	Config json.RawMessage `json:"config"`

	// SchemaVersion is [Version].
	SchemaVersion int `json:"schema_version"`
	// WorkspacePath is the directory that the agent left. Judges may only read it. Empty: there is none.
	WorkspacePath string `json:"workspace_path"`
	// FileChanges is the unified diff from the prepared workspace to the one that the agent left.
	FileChanges string `json:"file_changes"`
	// Metrics are the unit's metrics as in acp-metrics.json; nil: nothing was counted.
	Metrics json.RawMessage `json:"metrics"`
}

// Message is one message of a conversation.
type Message struct {
	Role      string         `json:"role"`
	Content   string         `json:"content"`
	ToolCalls []ToolCall     `json:"tool_calls,omitempty"`
	Name      string         `json:"name,omitempty"`
	Metadata  map[string]any `json:"metadata,omitempty"`
}

// ToolCall is a call of a tool.
type ToolCall struct {
	Tool string `json:"tool"`
	// Input and Output are decoded JSON, nil where unknown.
	Input  any    `json:"input,omitempty"`
	Output any    `json:"output,omitempty"`
	ID     string `json:"id,omitempty"`
	// Timestamp is when the call started, in the form of RFC 3339; empty: unknown.
	Timestamp string `json:"timestamp,omitempty"`
	// DurationMS is how long it took, in milliseconds; nil: unknown.
	DurationMS *float64 `json:"duration_ms,omitempty"`
}

// ReadInput reads the input of a judge: one JSON object with a question and a candidate_answer. Unknown keys are
// ignored; numbers in tool calls and in metadata keep their text, as json.Number.
func ReadInput(r io.Reader) (Input, error) {
	in, err := readInput(r)
	if err != nil {
		return Input{}, fmt.Errorf("read the judge's input: %w", err)
	}
	return in, nil
}

func readInput(r io.Reader) (Input, error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return Input{}, err
	}
	var must struct {
		Question        *string `json:"question"`
		CandidateAnswer *string `json:"candidate_answer"`
	}
	if err := jsonvalue.DecodeStrict(text, &must, jsonvalue.UnknownKeys); err != nil {
		return Input{}, err
	}
	switch {
	case must.Question == nil:
		return Input{}, errors.New("question is missing")
	case must.CandidateAnswer == nil:
		return Input{}, errors.New("candidate_answer is missing")
	}
	var in Input
	if err := jsonvalue.DecodeStrict(text, &in, jsonvalue.UnknownKeys); err != nil {
		return Input{}, err
	}
	in.Config, in.Metrics = orNil(in.Config), orNil(in.Metrics)
	return in, nil
}

// orNil returns nil for null.
func orNil(text json.RawMessage) json.RawMessage {
	if bytes.Equal(text, []byte("null")) {
		return nil
	}
	return text
}

// MarshalJSON writes every key. Nil lists are written as empty ones, except output_messages, which is written as null.
func (in Input) MarshalJSON() ([]byte, error) {
	type plain Input // without this method
	in.ExpectedMessages, in.InputMessages = orEmpty(in.ExpectedMessages), orEmpty(in.InputMessages)
	in.GuidelineFiles, in.InputFiles = orEmpty(in.GuidelineFiles), orEmpty(in.InputFiles)
	return json.Marshal(plain(in))
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

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

	// Text is the summary if it was a string without a JSON object. Then all other fields are empty.
	Text string `json:"-"`
}

// TokenUsage counts tokens.
type TokenUsage struct {
	Input  int64 `json:"input"`
	Output int64 `json:"output"`
	// Cached is how many tokens of the input were read from a cache; nil: unknown.
	Cached *int64 `json:"cached,omitempty"`
}

// UnmarshalJSON reads an object, or a string, which may contain an object.
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

// MarshalJSON writes an object or, if there is one, the text.
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

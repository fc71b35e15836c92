// Package atif reads trajectories in the Agent Trajectory Interchange Format, ATIF, up to version 1.8 of its
// specification (RFC 0001 of the Harbor framework), and writes them in that version. Anything the format does not allow
// is an error, above all unknown fields: most objects have a field "extra" for those. What trajectories mean for
// cassettes belongs in package convert.
package atif

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// Version is the version that [Encode] writes.
const Version = "ATIF-v1.8"

// Trajectory is the history of one session. Optional fields are left out where they are zero.
type Trajectory struct {
	SchemaVersion string `json:"schema_version"`
	// SessionID identifies the run, which may have several trajectories; TrajectoryID identifies this one.
	SessionID    string        `json:"session_id,omitempty"`
	TrajectoryID string        `json:"trajectory_id,omitempty"`
	Agent        Agent         `json:"agent"`
	Steps        []Step        `json:"steps"`
	Notes        string        `json:"notes,omitempty"`
	FinalMetrics *FinalMetrics `json:"final_metrics,omitempty"`
	// ContinuedIn names the file in which the session continues, empty if it does not.
	ContinuedIn string       `json:"continued_trajectory_ref,omitempty"`
	Extra       Extra        `json:"extra,omitempty"`
	Subagents   []Trajectory `json:"subagent_trajectories,omitempty"`
}

// Extra has data that the format has no field for, by name. Numbers are decoded as [json.Number].
type Extra map[string]any

// Agent is the agent of a trajectory.
type Agent struct {
	Name            string `json:"name"`
	Version         string `json:"version"`
	ModelName       string `json:"model_name,omitempty"`
	ToolDefinitions []any  `json:"tool_definitions,omitempty"`
	Extra           Extra  `json:"extra,omitempty"`
}

// Source is where a step comes from.
type Source string

// The sources of steps.
const (
	System    Source = "system"
	User      Source = "user"
	FromAgent Source = "agent"
)

// Step is a system's or a user's message, or a turn of the agent: what it said, its calls, and their results.
type Step struct {
	ID        int    `json:"step_id"` // 1-based
	Timestamp string `json:"timestamp,omitempty"`
	Source    Source `json:"source"`
	ModelName string `json:"model_name,omitempty"`
	// ReasoningEffort is a string or a number, nil if it is not known.
	ReasoningEffort  any          `json:"reasoning_effort,omitempty"`
	Message          Content      `json:"message"`
	ReasoningContent string       `json:"reasoning_content,omitempty"`
	ToolCalls        []ToolCall   `json:"tool_calls,omitempty"`
	Observation      *Observation `json:"observation,omitempty"`
	Metrics          *Metrics     `json:"metrics,omitempty"`
	Extra            Extra        `json:"extra,omitempty"`
	// LLMCalls is how often a model was asked for this step, nil if unknown.
	LLMCalls *int64 `json:"llm_call_count,omitempty"`
	// Copied is true if the step was copied from an earlier trajectory.
	Copied bool `json:"is_copied_context,omitempty"`
}

// ToolCall is a call of a tool.
type ToolCall struct {
	ID        string         `json:"tool_call_id"`
	Function  string         `json:"function_name"`
	Arguments map[string]any `json:"arguments"`
	Extra     Extra          `json:"extra,omitempty"`
}

// Observation is the result of a step.
type Observation struct {
	Results []Result `json:"results"`
}

// Result is the result of one tool call, or of something else if it names none.
type Result struct {
	CallID    string     `json:"source_call_id,omitempty"`
	Content   *Content   `json:"content,omitempty"`
	Subagents []Subagent `json:"subagent_trajectory_ref,omitempty"`
	Extra     Extra      `json:"extra,omitempty"`
}

// Subagent refers to the trajectory of a subagent: by the id of a trajectory that is embedded in this one, or by a
// path.
type Subagent struct {
	TrajectoryID string `json:"trajectory_id,omitempty"`
	Path         string `json:"trajectory_path,omitempty"`
	SessionID    string `json:"session_id,omitempty"`
	Extra        Extra  `json:"extra,omitempty"`
}

// Metrics are the metrics of a step. A nil count is unknown.
type Metrics struct {
	// PromptTokens counts all of the input, CachedTokens the part of it that came from a cache.
	PromptTokens     *int64    `json:"prompt_tokens,omitempty"`
	CompletionTokens *int64    `json:"completion_tokens,omitempty"`
	CachedTokens     *int64    `json:"cached_tokens,omitempty"`
	CostUSD          *float64  `json:"cost_usd,omitempty"`
	PromptIDs        []int64   `json:"prompt_token_ids,omitempty"`
	CompletionIDs    []int64   `json:"completion_token_ids,omitempty"`
	Logprobs         []float64 `json:"logprobs,omitempty"`
	Extra            Extra     `json:"extra,omitempty"`
}

// FinalMetrics are the metrics of the trajectory. A nil count is unknown.
type FinalMetrics struct {
	PromptTokens     *int64   `json:"total_prompt_tokens,omitempty"`
	CompletionTokens *int64   `json:"total_completion_tokens,omitempty"`
	CachedTokens     *int64   `json:"total_cached_tokens,omitempty"`
	CostUSD          *float64 `json:"total_cost_usd,omitempty"`
	Steps            *int64   `json:"total_steps,omitempty"`
	Extra            Extra    `json:"extra,omitempty"`
}

// Content is a text, or parts of which some are images or audio.
type Content struct {
	Text  string
	Parts []Part // nil: it is Text
}

// Part is a text, an image or audio.
type Part struct {
	Type   string `json:"type"` // text, image, audio
	Text   string `json:"text,omitempty"`
	Source *Media `json:"source,omitempty"`
}

// Media says where an image or audio is.
type Media struct {
	MediaType string `json:"media_type"`
	Path      string `json:"path"`
	// Seconds is how long the audio is, nil if unknown.
	Seconds *float64 `json:"duration_sec,omitempty"`
}

// MarshalJSON implements [json.Marshaler].
func (c Content) MarshalJSON() ([]byte, error) {
	if c.Parts != nil {
		return json.Marshal(c.Parts)
	}
	return json.Marshal(c.Text)
}

// UnmarshalJSON implements [json.Unmarshaler].
func (c *Content) UnmarshalJSON(data []byte) error {
	*c = Content{}
	if len(data) > 0 && data[0] == '[' {
		return json.Unmarshal(data, &c.Parts)
	}
	return json.Unmarshal(data, &c.Text)
}

// MarshalJSON implements [json.Marshaler]: a part of type text has a text, be it empty.
func (p Part) MarshalJSON() ([]byte, error) {
	type part Part
	if p.Type != "text" {
		return json.Marshal(part(p))
	}
	return json.Marshal(struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}{p.Type, p.Text})
}

// MaxSize is the size of the largest file that is read, in bytes.
const MaxSize = 256 << 20

// Decode reads a trajectory and checks it against the format. An error names the line if the file is not JSON,
// otherwise up to 20 problems with their places. Numbers in arguments and under extra are decoded as [json.Number].
func Decode(r io.Reader) (*Trajectory, error) {
	data, err := io.ReadAll(io.LimitReader(r, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("read trajectory: %w", err)
	}
	if len(data) > MaxSize {
		return nil, fmt.Errorf("the trajectory has more than %d bytes", MaxSize)
	}
	if err := Check(data); err != nil {
		return nil, err
	}
	t := new(Trajectory)
	if err := jsonvalue.Decode(data, t); err != nil {
		return nil, fmt.Errorf("decode trajectory: %w", err)
	}
	return t, nil
}

// Encode returns the trajectory as JSON of several lines. A trajectory that [Check] refuses is an error.
func Encode(t *Trajectory) ([]byte, error) {
	data, err := jsonvalue.Indent(t)
	if err != nil {
		return nil, fmt.Errorf("encode trajectory: %w", err)
	}
	if err := Check(data); err != nil {
		return nil, fmt.Errorf("encode trajectory: it is not valid: %w", err)
	}
	return data, nil
}

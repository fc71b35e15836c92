package payload_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/judge"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/payload"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

func at(ms int, turn int, body trajectory.Body) trajectory.Event {
	return trajectory.Event{Turn: turn, At: time.Duration(ms) * time.Millisecond, Body: body}
}

// input is the unit of the case table, and a second turn.
func input() evaluator.Input {
	return evaluator.Input{
		Case: plan.Case{
			Prompts: []string{"What is 2+2?", "Sure?"}, ExpectedOutcome: "four", ReferenceAnswer: "The sum is 4",
			Files: map[string]string{"b/c.txt": "", "a.txt": ""},
		},
		Run: &trajectory.Run{Events: []trajectory.Event{
			at(0, 1, trajectory.Prompt{Text: "What is 2+2?"}),
			at(10, 1, trajectory.Thought{Text: "hm"}),
			at(20, 1, trajectory.ToolStart{
				ID: "1", Name: "search", Args: map[string]any{"query": "weather Paris", "limit": json.Number("10")},
			}),
			at(65, 1, trajectory.ToolEnd{ID: "1", Status: trajectory.Completed, Output: map[string]any{"fooBar": "x"}}),
			at(70, 1, trajectory.Message{Text: "Looking it up."}),
			at(80, 1, trajectory.ToolStart{ID: "2", Name: "get_weather", Args: map[string]any{"unitSystem": "metric"}}),
			at(90, 1, trajectory.ToolStart{ID: "3", Kind: "execute"}),
			at(200, 1, trajectory.ToolEnd{ID: "2", Status: trajectory.Failed}),
			at(210, 1, trajectory.ToolEnd{ID: "3", Status: trajectory.Completed, Printed: "out"}),
			at(220, 1, trajectory.ToolStart{ID: "4", Name: "search"}),
			at(230, 1, trajectory.Stop{Reason: "end_turn"}),
			at(240, 2, trajectory.Prompt{Text: "Sure?"}),
			at(1400, 2, trajectory.Message{Text: "The answer is 4"}),
			at(1500, 2, trajectory.Stop{Reason: "end_turn"}),
		}},
		Metrics: &result.Metrics{
			Version: 1, Tokens: &result.Tokens{Input: new(int64(1000)), Output: new(int64(200))},
			Cost: &trajectory.Cost{Amount: 0.05, Currency: "USD"},
		},
		Workspace: "/w",
		Changes:   func(context.Context) (string, error) { return "--- a\n", nil },
	}
}

func TestOf(t *testing.T) {
	got, err := payload.Of(t.Context(), input(), map[string]any{
		"rubric": "r", "strictMode": true, "nested": map[string]any{"fooBar": 1},
	})
	require.NoError(t, err)
	assert.Contains(t, string(got.Metrics), `"version":1`)
	got.Metrics = nil
	assert.Equal(t, judge.Input{
		Question:         "What is 2+2?\n\nSure?",
		ExpectedOutcome:  "four",
		ExpectedMessages: []judge.Message{{Role: "assistant", Content: "The sum is 4"}},
		ReferenceAnswer:  "The sum is 4",
		CandidateAnswer:  "The answer is 4",
		OutputMessages: []judge.Message{
			{Role: "assistant", ToolCalls: []judge.ToolCall{{
				Tool: "search", ID: "1", Input: map[string]any{"query": "weather Paris", "limit": json.Number("10")},
				Output: map[string]any{"fooBar": "x"}, DurationMS: new(45.0),
			}}},
			{Role: "assistant", Content: "Looking it up.", ToolCalls: []judge.ToolCall{
				{Tool: "get_weather", ID: "2", Input: map[string]any{"unitSystem": "metric"}, DurationMS: new(120.0)},
				{Tool: "execute", ID: "3", Output: "out", DurationMS: new(120.0)},
			}},
			{Role: "assistant", ToolCalls: []judge.ToolCall{{Tool: "search", ID: "4"}}},
			{Role: "user", Content: "Sure?"},
			{Role: "assistant", Content: "The answer is 4"},
		},
		InputFiles:    []string{"/w/a.txt", "/w/b/c.txt"},
		InputMessages: []judge.Message{{Role: "user", Content: "What is 2+2?"}, {Role: "user", Content: "Sure?"}},
		TraceSummary: &judge.TraceSummary{
			EventCount: 4, ToolNames: []string{"execute", "get_weather", "search"},
			ToolCallsByName: map[string]int{"search": 2, "get_weather": 1, "execute": 1}, ErrorCount: 1,
			TokenUsage: &judge.TokenUsage{Input: 1000, Output: 200}, CostUSD: new(0.05), DurationMS: new(1500.0),
			ToolDurations: map[string][]float64{"search": {45}, "get_weather": {120}, "execute": {120}},
		},
		Config:        json.RawMessage(`{"nested":{"fooBar":1},"rubric":"r","strictMode":true}`),
		SchemaVersion: 1, WorkspacePath: "/w", FileChanges: "--- a\n",
	}, got)
}

func TestOfLittle(t *testing.T) {
	got, err := payload.Of(t.Context(), evaluator.Input{Run: &trajectory.Run{}}, nil)
	require.NoError(t, err)
	assert.Nil(t, got.Config)
	assert.Nil(t, got.Metrics)
	text, err := payload.Encode(got, "")
	require.NoError(t, err)
	assert.JSONEq(t,
		`{"question":"","expected_outcome":"","expected_messages":[],"reference_answer":"","candidate_answer":"",
		"output_messages":[],"guideline_files":[],"input_files":[],"input_messages":[],"config":null,"schema_version":1,
		"trace_summary":{"event_count":0,"tool_names":[],"tool_calls_by_name":{},"error_count":0},
		"workspace_path":"","file_changes":"","metrics":null}`, string(text))
}

// TestOfParts holds that what is not known is left out, whatever else is known.
func TestOfParts(t *testing.T) {
	in := evaluator.Input{
		Case: plan.Case{Files: map[string]string{"a.txt": ""}},
		Run:  &trajectory.Run{Events: []trajectory.Event{at(3, 1, trajectory.ToolStart{ID: "1", Name: "Read"})}},
	}
	n := new(int64(7))
	tests := []struct {
		name    string
		metrics result.Metrics
		tokens  *judge.TokenUsage
		usd     *float64
	}{
		{"nothing", result.Metrics{}, nil, nil},
		{"input alone", result.Metrics{Tokens: &result.Tokens{Input: n}}, nil, nil},
		{"output alone", result.Metrics{Tokens: &result.Tokens{Output: n}}, nil, nil},
		{
			"cache",
			result.Metrics{Tokens: &result.Tokens{Input: n, Output: n, CacheRead: n}},
			&judge.TokenUsage{Input: 7, Output: 7, Cached: n}, nil,
		},
		{"dollars", result.Metrics{Cost: &trajectory.Cost{Amount: 2, Currency: "USD"}}, nil, new(2.0)},
		{"euros", result.Metrics{Cost: &trajectory.Cost{Amount: 2, Currency: "EUR"}}, nil, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in.Metrics = &tt.metrics
			got, err := payload.Of(t.Context(), in, nil)
			require.NoError(t, err)
			assert.Equal(t, tt.tokens, got.TraceSummary.TokenUsage)
			assert.Equal(t, tt.usd, got.TraceSummary.CostUSD)
			assert.Equal(t, new(3.0), got.TraceSummary.DurationMS)
			assert.Equal(t, []string{"a.txt"}, got.InputFiles, "there is no workspace")
			assert.Equal(t, []judge.Message{
				{Role: "assistant", ToolCalls: []judge.ToolCall{{Tool: "Read", ID: "1"}}},
			}, got.OutputMessages, "a run may begin with a call")
		})
	}
}

func TestExpectedMessages(t *testing.T) {
	in := input()
	in.Case.ExpectedMessages = []plan.Message{
		{
			Role: "assistant", Content: "x",
			ToolCalls: []plan.MessageCall{{Tool: "Bash", Input: map[string]any{"command": "go test"}}},
		},
	}
	got, err := payload.Of(t.Context(), in, nil)
	require.NoError(t, err)
	assert.Equal(t, []judge.Message{
		{
			Role: "assistant", Content: "x",
			ToolCalls: []judge.ToolCall{{Tool: "Bash", Input: map[string]any{"command": "go test"}}},
		},
	}, got.ExpectedMessages)
}

func TestOfErrors(t *testing.T) {
	in := input()
	in.Changes = func(context.Context) (string, error) { return "", errors.New("gone") }
	_, err := payload.Of(t.Context(), in, nil)
	require.EqualError(t, err, "changes of the workspace: gone")
	_, err = payload.Of(t.Context(), input(), func() {})
	require.ErrorContains(t, err, "judge's config: ")
	in.Metrics.Cost.Amount = math.NaN()
	_, err = payload.Of(t.Context(), in, nil)
	require.ErrorContains(t, err, "metrics: ")
	_, err = payload.Encode(judge.Input{Config: json.RawMessage("{")}, "")
	require.Error(t, err)
}

// AgentV's judges get eleven keys, with the same values.
func TestEncode(t *testing.T) {
	in, err := payload.Of(t.Context(), input(), map[string]any{"fooBar": 1})
	require.NoError(t, err)
	decode := func(compat string) map[string]json.RawMessage {
		text, err := payload.Encode(in, compat)
		require.NoError(t, err)
		var keys map[string]json.RawMessage
		require.NoError(t, json.Unmarshal(text, &keys))
		return keys
	}
	ours, theirs := decode(""), decode(payload.AgentV)
	assert.Equal(t, []string{
		"candidate_answer", "config", "expected_messages", "expected_outcome", "guideline_files", "input_files",
		"input_messages", "output_messages", "question", "reference_answer", "trace_summary",
	}, slices.Sorted(maps.Keys(theirs)))
	assert.Len(t, ours, 15)
	for key, value := range theirs {
		assert.JSONEq(t, string(ours[key]), string(value), key)
	}
}

// Scripts for AgentV 5 read these keys, and lists that are never null.
func TestEncodeAgentV5(t *testing.T) {
	in, err := payload.Of(t.Context(), input(), map[string]any{"fooBar": 1})
	require.NoError(t, err)
	text, err := payload.Encode(in, payload.AgentV5)
	require.NoError(t, err)
	golden.Equal(t, "testdata/agentv5.golden", indented(t, text))
	text, err = payload.Encode(judge.Input{}, payload.AgentV5)
	require.NoError(t, err)
	assert.JSONEq(t, `{"criteria": "", "expected_output": [], "output": "", "messages": [], "input_files": [],
		"input": [], "metadata": null, "token_usage": null, "cost_usd": null, "duration_ms": null, "config": null,
		"trace": {"event_count": 0, "tool_calls": {}, "error_count": 0, "messages": [], "events": []},
		"trace_summary": {"event_count": 0, "tool_calls": {}, "error_count": 0}, "file_changes": "",
		"workspace_path": ""}`, string(text))
}

func indented(t *testing.T, text []byte) string {
	var out bytes.Buffer
	require.NoError(t, json.Indent(&out, text, "", "  "))
	return out.String() + "\n"
}

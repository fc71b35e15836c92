package otlp

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
	"github.com/sdd-eval/sdd-eval/internal/tracing"
)

var start = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

const password = "correct-horse-battery"

// session is one with two turns: calls made together, one that fails, one that never ends, and a turn that is cut
// short.
func session() *trajectory.Run {
	exit := 2
	tokens := func(n int64) *int64 { return &n }
	at := func(turn int, ms int, b trajectory.Body) trajectory.Event {
		return trajectory.Event{Turn: turn, At: time.Duration(ms) * time.Millisecond, Body: b}
	}
	return &trajectory.Run{
		Agent: trajectory.Agent{Kind: "claude-code-acp", Name: "claude", Version: "1.2.3", Model: "opus"},
		Cwd:   "$WORKSPACE",
		Events: []trajectory.Event{
			at(1, 100, trajectory.Prompt{Text: "Find the port. The password is " + password}),
			at(1, 600, trajectory.Thought{Text: "Look first."}),
			at(1, 700, trajectory.ToolStart{
				ID: "a", Name: "Grep", Kind: "search", Title: "grep port",
				Args: map[string]any{"pattern": "port"},
			}),
			at(1, 710, trajectory.ToolStart{
				ID: "b", Parent: "a", Name: "Bash", Kind: "execute",
				Args: map[string]any{"command": "curl -u me:" + password},
			}),
			at(1, 800, trajectory.ToolEnd{ID: "a", Status: trajectory.Completed, Output: "config.yaml:3"}),
			at(1, 900, trajectory.ToolEnd{ID: "b", Status: trajectory.Failed, ExitCode: &exit}),
			at(1, 1500, trajectory.Message{Text: "It is 8080.\xff"}),
			at(1, 1900, trajectory.Stop{Reason: "end_turn", Usage: &trajectory.Usage{
				Input: tokens(10), Output: tokens(20), CacheRead: tokens(300),
				CacheWrite: tokens(4), Total: tokens(334),
			}}),
			at(2, 2000, trajectory.Prompt{Text: "Change it."}),
			at(2, 2500, trajectory.ToolStart{ID: "c", Kind: "edit"}),
			at(2, 3000, trajectory.Stop{Reason: "cancelled"}),
		},
	}
}

func unit() result.Unit {
	score := func(f float64) *float64 { return &f }
	return result.Unit{
		ID: "files/search/opus/1", Case: "search", Variant: "opus", Trial: 1, Outcome: result.Fail, Stop: "cancelled",
		Reason: "the reason quotes " + password, Session: "cassettes/files/search/opus.1.jsonl", Endpoint: "real",
		Attempts: []string{"429"}, Run: session(), Started: start, Duration: result.Duration(3500 * time.Millisecond),
		Evaluations: []result.Evaluation{
			{
				Name: "steps", Type: "tool_trajectory", Outcome: result.Fail, Score: score(0.5),
				Threshold: 1, Weight: 1,
				Reason: "step 2 not matched", Duration: result.Duration(time.Millisecond),
			},
			{Name: "judge", Type: "llm_judge", Outcome: result.Error, Threshold: 0.8, Weight: 1, Reason: "no answer"},
		},
		Metrics: &result.Metrics{Cost: &trajectory.Cost{Amount: 0.25, Currency: "USD"}},
	}
}

func TestSpans(t *testing.T) {
	secrets := func() *secret.Set {
		s := new(secret.Set)
		s.Mark("PASSWORD", password)
		return s
	}
	tests := []struct {
		name, reason string
		environ      []string
		change       func(*result.Unit)
	}{
		{
			name: "live", reason: "content is off unless asked for; the session begins when the workspace is there",
			change: func(u *result.Unit) {
				u.SessionStarted, u.Duration = start.Add(10*time.Second), result.Duration(13500*time.Millisecond)
			},
		},
		{name: "content", environ: []string{"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true"}},
		{
			name: "replayed", reason: "a recorded session is as long as it was, and begins now",
			change: func(u *result.Unit) {
				u.Replayed, u.Duration, u.Outcome, u.Reason = true, result.Duration(time.Millisecond), result.Pass, ""
				u.Run.Events, u.Evaluations = u.Run.Events[:8], u.Evaluations[:1]
				u.Evaluations[0].Outcome = result.Pass
			},
		},
		{
			name: "not_started", reason: "there is nothing to tell of the agent",
			change: func(u *result.Unit) {
				u.Outcome, u.Run, u.Metrics, u.Evaluations, u.Stop = result.Error, nil, nil, nil, ""
			},
		},
		{
			name: "died", reason: "a turn without an end is not one that ended well",
			change: func(u *result.Unit) {
				u.Outcome, u.Run.Events, u.Evaluations = result.Error, u.Run.Events[8:10], nil
				u.Run.Agent = trajectory.Agent{Kind: "opencode-acp"}
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := newCollector(t)
			u := unit()
			if tt.change != nil {
				tt.change(&u)
			}
			tracer := openTracer(t, tracing.Config{RunID: "run-7", Version: "0.1.0", Secrets: secrets()},
				append(tt.environ, "OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL)...)
			tracer.Unit(u)
			require.NoError(t, tracer.Close())
			got := c.tree(t, start)
			require.NotContains(t, got, password)
			golden.Equal(t, "testdata/"+tt.name+".txt", got)
		})
	}
}

func TestContentIsBounded(t *testing.T) {
	c := newCollector(t)
	u := unit()
	long := strings.Repeat("é", maxText)
	u.Run.Events[0].Body = trajectory.Prompt{Text: long}
	said := make([]trajectory.Event, 100)
	for i := range said {
		said[i] = trajectory.Event{Turn: 1, At: 1500 * time.Millisecond, Body: trajectory.Message{Text: long}}
	}
	u.Run.Events = append(said[:100:100], u.Run.Events[7])
	u.Run.Events[0].Body = trajectory.ToolStart{ID: long, Name: long, Args: long}
	tracer := openTracer(t, tracing.Config{},
		"OTEL_EXPORTER_OTLP_ENDPOINT="+c.URL, "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true")
	tracer.Unit(u)
	require.NoError(t, tracer.Close())
	found := 0
	for _, s := range c.spans {
		require.Less(t, len(s.Name), 2*maxName)
		for _, a := range s.Attributes {
			value := valueText(a.Value)
			require.Less(t, len(value), maxTurn+maxText)
			if a.Key == "gen_ai.output.messages" {
				found++
				require.True(t, json.Valid([]byte(value)))
				require.Contains(t, value, "more follows")
			}
		}
	}
	require.Equal(t, 1, found)
}

func TestInputTokens(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	tests := []struct {
		name, reason string
		usage        trajectory.Usage
		want         *int64
	}{
		{"unknown", "which is not zero", trajectory.Usage{Output: n(5)}, nil},
		{"alone", "", trajectory.Usage{Input: n(10)}, n(10)},
		{"cache on top", "", trajectory.Usage{
			Input: n(10), Output: n(5), CacheRead: n(100), CacheWrite: n(7),
			Total: n(122),
		}, n(117)},
		{"cache on top, no total", "", trajectory.Usage{Input: n(10), CacheRead: n(100)}, n(110)},
		{"cache within", "the total says so", trajectory.Usage{
			Input: n(110), Output: n(5), CacheRead: n(100),
			Total: n(115),
		}, n(110)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, input(&tt.usage), tt.reason) })
	}
}

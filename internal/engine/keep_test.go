package engine

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

func TestWriteRun(t *testing.T) {
	event := func(b trajectory.Body) trajectory.Event {
		return trajectory.Event{Turn: 1, At: 1500 * time.Microsecond, Body: b}
	}
	tests := []struct {
		name   string
		events []trajectory.Event
	}{
		{"nothing happened", []trajectory.Event{}},
		{"an event without fields", []trajectory.Event{event(trajectory.State{})}},
		{"text that is escaped", []trajectory.Event{
			event(trajectory.Prompt{Text: "<a>\n\"b\" \u2028 \xff"}),
			event(trajectory.Stop{Reason: "end_turn"}),
		}},
		{"values of any type", []trajectory.Event{
			event(trajectory.ToolStart{ID: "c", Args: map[string]any{"b": json.Number("1.0"), "a": []any{nil, true}}}),
			event(trajectory.ToolEnd{ID: "c", Output: "}"}),
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := &trajectory.Run{Agent: trajectory.Agent{Kind: "fake-acp"}, Cwd: "$WORKSPACE", Events: tt.events}
			want, err := json.Marshal(run)
			require.NoError(t, err)
			var text, one, escaped bytes.Buffer
			require.NoError(t, writeRun(&text, run))
			require.NoError(t, json.Compact(&one, text.Bytes()))
			require.NotContains(t, one.String(), `\u003c`, "HTML stays as it is")
			json.HTMLEscape(&escaped, one.Bytes())
			require.Equal(t, string(want), escaped.String())
			require.Equal(t, len(tt.events)+2, bytes.Count(text.Bytes(), []byte("\n")), "an event a line")
		})
	}
	require.Error(t, writeRun(new(bytes.Buffer), &trajectory.Run{Events: []trajectory.Event{{}}}),
		"an event without a body")
}

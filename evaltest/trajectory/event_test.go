package trajectory

import (
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"
)

func TestRunJSON(t *testing.T) {
	line, code, tokens := 3, 1, int64(12)
	run := Run{
		Agent: Agent{Kind: "acp", Name: "a"}, Cwd: "$WORKSPACE",
		Events: []Event{
			{Turn: 1, Body: Prompt{Text: "fix <it>"}},
			{Turn: 1, At: time.Millisecond, Body: Message{}},
			{Turn: 1, At: 2 * time.Millisecond, Body: Thought{Text: "hm"}},
			{Turn: 1, Body: Plan{Entries: []PlanEntry{{Content: "x"}}}},
			{Turn: 1, Body: ToolStart{
				ID: "t1", Name: "Read", Kind: "read",
				Args: map[string]any{"n": json.Number("1.50")}, Locations: []Location{{Path: "a", Line: &line}},
			}},
			{Turn: 1, Body: ToolEnd{ID: "t1", Status: Completed, Output: "text", ExitCode: &code}},
			{Turn: 1, Body: FileRead{Path: "a", Error: "denied"}},
			{Turn: 1, Body: FileWrite{Path: "a", Text: "b"}},
			{Turn: 1, Body: Terminal{Command: "go", Args: []string{"test"}, ExitCode: &code}},
			{Turn: 1, Body: Permission{
				ID: "t1", Options: []PermissionOption{{ID: "y", Kind: "allow_once"}},
				Decision: "y",
			}},
			{Turn: 1, Body: MCPCall{
				Server: "s", Method: "tools/call", Tool: "add", Params: map[string]any{"n": json.Number("1.50")},
				Result: map[string]any{"isError": true},
			}},
			{Turn: 1, Body: MCPCall{
				Server: "s", Method: "prompts/get",
				Error: &MCPError{Code: -32602, Message: "no", Data: "why"},
			}},
			{Turn: 1, Body: Notice{Name: "session/update:x", Data: []any{true, nil}}},
			{Turn: 1, Body: State{Title: "t", Cost: &Cost{Amount: 0.5, Currency: "USD"}}},
			{Turn: 1, Body: Stop{Reason: "end_turn", Usage: &Usage{Total: &tokens}}},
		},
	}
	data, err := json.Marshal(run)
	require.NoError(t, err)
	var got Run
	require.NoError(t, json.Unmarshal(data, &got))
	if diff := cmp.Diff(run, got); diff != "" {
		t.Errorf("after a round trip (-want +got):\n%s", diff)
	}
	require.Equal(t, []string{
		"file_read", "file_write", "mcp", "message", "notice", "permission", "plan", "prompt", "state", "stop",
		"terminal", "thought", "tool_call", "tool_result",
	}, slices.Sorted(maps.Keys(bodies)))
	seen := make(map[string]bool)
	for _, e := range run.Events {
		seen[e.Body.EventName()] = true
	}
	for name := range bodies {
		require.True(t, seen[name], "%s is not in the round trip", name)
	}
}

func TestEventJSONErrors(t *testing.T) {
	_, err := json.Marshal(Event{})
	require.ErrorContains(t, err, "an event has no body")
	var e Event
	require.EqualError(t, json.Unmarshal([]byte(`{"event":"dance"}`), &e), `unknown event "dance"`)
	require.ErrorContains(t, json.Unmarshal([]byte(`{"event":"message","text":1}`), &e), "event message: ")
}

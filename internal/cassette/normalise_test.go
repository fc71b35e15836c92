package cassette

import (
	"encoding/json"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

func TestNormaliseText(t *testing.T) {
	tests := []struct{ name, reason, in, want string }{
		{"whole path", "", "/run/ws", "$WORKSPACE"},
		{"below", "", "/run/ws/a/b.go", "$WORKSPACE/a/b.go"},
		{"inside text", "", "see file:///run/ws/a, /run/ws: and /run/ws.", "see file://$WORKSPACE/a, $WORKSPACE: and $WORKSPACE."},
		{"sibling", "the beginning of another name is another name", "/run/ws2 /run/ws-old /run/ws.bak /run/ws_x", "/run/ws2 /run/ws-old /run/ws.bak /run/ws_x"},
		{"longest first", "home lies below the base", "/run/ws/home/x /run/base", "$HOME/x /run/base"},
		{"pattern", "durations differ", "ok  shop  0.123s", "ok  shop  <normalised>"},
		{"embedded id", "agents put ids into their output", "see toolu_0123456789 there", "see c1 there"},
		{"short id", "1 says nothing", "1 of 1", "1 of 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			n := NewNormaliser(map[string]string{"/run/ws": "$WORKSPACE", "/run/ws/home": "$HOME"},
				[]*regexp.Regexp{regexp.MustCompile(`\d+\.\d+s`)}, nil)
			events := []trajectory.Event{
				{Body: trajectory.Message{Text: tt.in}},
				{Body: trajectory.ToolStart{ID: "toolu_0123456789"}},
				{Body: trajectory.ToolStart{ID: "1"}},
			}
			got := n.Events(events)
			require.Equal(t, trajectory.Message{Text: tt.want}, got[0].Body, tt.reason)
			require.Equal(t, got, n.Events(got), "what is normalised stays as it is")
		})
	}
}

func TestNormaliseEverything(t *testing.T) {
	code := 1
	n := NewNormaliser(map[string]string{"/run/ws": "$WORKSPACE"}, nil, []string{"turn_id"})
	events := []trajectory.Event{
		{Turn: 1, At: 5, Body: trajectory.ToolStart{ID: "call-b", Args: map[string]any{
			"/run/ws/a": []any{"/run/ws/b", nil, json.Number("3"), true}, "turn_id": json.Number("17"),
		}}},
		{Turn: 1, Body: trajectory.Terminal{ID: "term", Cwd: "/run/ws", Args: []string{"/run/ws"}, ExitCode: &code}},
		{Turn: 1, Body: trajectory.Permission{ID: "call-b", Options: []trajectory.PermissionOption{{ID: "ok"}}, Decision: "ok"}},
		{Turn: 1, Body: trajectory.State{Options: map[string]string{"dir": "/run/ws"}}},
	}
	want := []trajectory.Event{
		{Turn: 1, At: 5, Body: trajectory.ToolStart{ID: "c1", Args: map[string]any{
			"$WORKSPACE/a": []any{"$WORKSPACE/b", nil, json.Number("3"), true}, "turn_id": "<normalised>",
		}}},
		{Turn: 1, Body: trajectory.Terminal{ID: "t1", Cwd: "$WORKSPACE", Args: []string{"$WORKSPACE"}, ExitCode: &code}},
		{Turn: 1, Body: trajectory.Permission{ID: "c1", Options: []trajectory.PermissionOption{{ID: "ok"}}, Decision: "ok"}},
		{Turn: 1, Body: trajectory.State{Options: map[string]string{"dir": "$WORKSPACE"}}},
	}
	require.Empty(t, cmp.Diff(want, n.Events(events)))
	later := []trajectory.Event{{Turn: 2, Body: trajectory.ToolEnd{ID: "call-b"}}, {Turn: 2, Body: trajectory.ToolStart{ID: "call-a"}}}
	require.Equal(t, []trajectory.Event{{Turn: 2, Body: trajectory.ToolEnd{ID: "c1"}}, {Turn: 2, Body: trajectory.ToolStart{ID: "c2"}}},
		n.Events(later), "ids are kept from turn to turn")
}

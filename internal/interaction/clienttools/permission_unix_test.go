//go:build unix

package clienttools_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// offered are options of these kinds, whose ids and names begin with a word.
func offered(word string, kinds ...string) (recorded []trajectory.PermissionOption, asked []acp.PermissionOption) {
	for _, kind := range kinds {
		recorded = append(recorded, trajectory.PermissionOption{ID: word + kind, Name: word, Kind: kind})
		asked = append(asked,
			acp.PermissionOption{OptionID: word + kind, Name: word, Kind: acp.PermissionOptionKind(kind)})
	}
	return recorded, asked
}

func TestPermission(t *testing.T) {
	was, _ := offered("was ", "allow_once", "allow_always", "reject_once")
	_, now := offered("now ", "allow_once", "allow_always", "reject_once")
	_, twice := offered("now ", "allow_once", "reject_once", "reject_once")
	input := map[string]any{"command": "ls", "cwd": "$WORKSPACE"}
	start := trajectory.ToolStart{ID: "c1", Name: "Bash", Title: "later", Args: map[string]any{"process": 7}}
	tests := []struct {
		name, reason string
		start        trajectory.ToolStart
		recorded     trajectory.Permission
		asked        []acp.PermissionOption
		call         string // as the agent shows it
		want         acp.RequestPermissionResponse
		diverges     bool
	}{
		{
			name: "other ids", reason: "they are the agent's own and of no meaning",
			start:    trajectory.ToolStart{ID: "c1", Name: "Bash", Args: input},
			recorded: trajectory.Permission{ID: "c1", Options: was, Decision: "was allow_always"}, asked: now,
			call: `"name":"Bash","rawInput":{"cwd":"$WS","command":"ls"}`, want: acp.Selected("now allow_always"),
		},
		{
			name: "another title", reason: "it is for people",
			start:    trajectory.ToolStart{ID: "c1", Name: "Bash", Title: "List", Args: input},
			recorded: trajectory.Permission{ID: "c1", Options: was, Decision: "was reject_once"}, asked: now,
			call: `"name":"Bash","title":"ls","rawInput":{"cwd":"$WS","command":"ls"}`,
			want: acp.Selected("now reject_once"),
		},
		{
			name: "a call that changed later", reason: "it was not known then", start: start,
			recorded: trajectory.Permission{
				ID: "c1", Asked: &trajectory.AskedCall{Name: "Bash", Args: input},
				Options: was, Decision: "was allow_once",
			},
			asked: now, call: `"name":"Bash","rawInput":{"cwd":"$WS","command":"ls"}`,
			want: acp.Selected("now allow_once"),
		},
		{
			name: "cancelled", start: trajectory.ToolStart{ID: "c1", Name: "Bash", Args: input},
			recorded: trajectory.Permission{ID: "c1", Options: was, Decision: "cancelled"}, asked: now,
			call: `"name":"Bash","rawInput":{"cwd":"$WS","command":"ls"}`, want: acp.Cancelled(),
		},
		{
			name: "no input", reason: "the title is all there is",
			start:    trajectory.ToolStart{ID: "c1", Name: "Bash", Title: "Run ls"},
			recorded: trajectory.Permission{ID: "c1", Options: was, Decision: "was allow_once"}, asked: now,
			call: `"name":"Bash","title":"Run ls"`, want: acp.Selected("now allow_once"),
		},
		{
			name: "no input and another title", start: trajectory.ToolStart{ID: "c1", Name: "Bash", Title: "Run ls"},
			recorded: trajectory.Permission{ID: "c1", Options: was, Decision: "was allow_once"}, asked: now,
			call: `"name":"Bash","title":"Run rm"`, diverges: true,
		},
		{
			name: "another input", start: trajectory.ToolStart{ID: "c1", Name: "Bash", Args: input},
			recorded: trajectory.Permission{ID: "c1", Options: was, Decision: "was allow_once"}, asked: now,
			call: `"name":"Bash","rawInput":{"cwd":"$WS","command":"rm"}`, diverges: true,
		},
		{
			name: "another tool", start: trajectory.ToolStart{ID: "c1", Name: "Bash", Args: input},
			recorded: trajectory.Permission{ID: "c1", Options: was, Decision: "was allow_once"}, asked: now,
			call: `"name":"Shell","rawInput":{"cwd":"$WS","command":"ls"}`, diverges: true,
		},
		{
			name: "other kinds", reason: "what was decided may not be on offer",
			start:    trajectory.ToolStart{ID: "c1", Name: "Bash", Args: input},
			recorded: trajectory.Permission{ID: "c1", Options: was, Decision: "was allow_once"}, asked: twice,
			call: `"name":"Bash","rawInput":{"cwd":"$WS","command":"ls"}`, diverges: true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, client := replaying(t, tt.start, tt.recorded)
			raw := []byte(`{"jsonrpc":"2.0","id":1,"method":"session/request_permission",` +
				`"params":{"sessionId":"s","options":[],"toolCall":{"toolCallId":"another id",` + tt.call + `}}}`)
			raw = bytes.ReplaceAll(raw, []byte("$WS"), []byte(s.ws))
			s.observer.Frame(acp.Frame{Direction: acp.ToClient, Raw: raw})
			var m struct{ Params acp.RequestPermissionRequest }
			require.NoError(t, json.Unmarshal(raw, &m))
			m.Params.Options = tt.asked
			got, err := client.Permission(t.Context(), m.Params)
			if tt.diverges {
				require.Len(t, s.diverged, 1)
				assert.ErrorContains(t, err, s.diverged[0].Error())
				return
			}
			require.NoError(t, err, tt.reason)
			assert.Equal(t, tt.want, got, tt.reason)
		})
	}
}

func TestPermissionForAnUnknownCall(t *testing.T) {
	s, client := replaying(t)
	_, err := client.Permission(t.Context(),
		acp.RequestPermissionRequest{ToolCall: acp.ToolCallUpdate{ToolCallID: "x"}})
	require.ErrorContains(t, err, `the unknown tool call "x"`)
	assert.Len(t, s.diverged, 1)
}

// TestPermissionError replays a permission request that was answered by an error.
func TestPermissionError(t *testing.T) {
	s, client := replaying(t, trajectory.ToolStart{ID: "c1", Name: "Bash"},
		trajectory.Permission{ID: "c1", Decision: "error: no answer below $WORKSPACE"})
	s.observer.Frame(acp.Frame{Direction: acp.ToClient, Raw: []byte(
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s",` +
			`"update":{"sessionUpdate":"tool_call","toolCallId":"x","name":"Bash"}}}`,
	)})
	_, err := client.Permission(t.Context(),
		acp.RequestPermissionRequest{ToolCall: acp.ToolCallUpdate{ToolCallID: "x"}})
	requireCode(t, acp.CodeInternal, err)
	assert.ErrorContains(t, err, "no answer below "+s.ws)
	assert.Empty(t, s.diverged)
}

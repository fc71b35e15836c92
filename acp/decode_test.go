package acp

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func unknown(fields map[string]json.RawMessage) Extra { return Extra{Unknown: fields} }

// TestDecodeUpdate shows what becomes of updates that are not as the protocol has them.
func TestDecodeUpdate(t *testing.T) {
	type fields = map[string]json.RawMessage
	tests := []struct {
		name   string
		reason string
		json   string
		want   SessionUpdate
		extra  Extra // of the notification
	}{
		{
			name: "tool call", reason: "all fields",
			json: `{"sessionUpdate":"tool_call","toolCallId":"1","title":"T","name":"Read",
				"kind":"read","status":"pending","content":[{"type":"content","content":{"type":"text","text":"x"}},
				{"type":"diff","path":"/a","newText":"n"},
				{"type":"terminal","terminalId":"t"}],"locations":[{"path":"/a","line":7}],
				"rawInput":{"n":9007199254740993},"rawOutput":null,"_meta":{"k":1}}`,
			want: ToolCall{
				ToolCallID: "1", Title: "T", Name: "Read", Kind: KindRead, Status: StatusPending,
				Content: []ToolCallContent{
					Content{Content: TextContent{Text: "x"}}, Diff{Path: "/a", NewText: "n"}, Terminal{TerminalID: "t"},
				},
				Locations: []ToolCallLocation{{Path: "/a", Line: new(7)}},
				RawInput:  raw(`{"n":9007199254740993}`), RawOutput: raw(`null`),
				Extra: Extra{Meta: raw(`{"k":1}`)},
			},
		},
		{
			name: "unknown fields", reason: "are kept",
			json:  `{"sessionUpdate":"current_mode_update","currentModeId":"m","since":1e999}`,
			want:  CurrentModeUpdate{CurrentModeID: "m", Extra: unknown(fields{"since": raw("1e999")})},
			extra: Extra{},
		},
		{
			name: "bad optional fields", reason: "become their defaults and are kept raw",
			json: `{"sessionUpdate":"tool_call","toolCallId":"1","title":7,"kind":{},"status":null,
				"locations":{},"name":["x"]}`,
			want: ToolCall{ToolCallID: "1", Extra: unknown(fields{
				"title": raw(`7`), "kind": raw(`{}`), "status": raw(`null`), "locations": raw(`{}`),
				"name": raw(`["x"]`),
			})},
		},
		{
			name: "unknown values of known kinds of strings", reason: "are themselves",
			json: `{"sessionUpdate":"tool_call","toolCallId":"1","title":"","kind":"dream","status":"cancelled"}`,
			want: ToolCall{ToolCallID: "1", Kind: "dream", Status: "cancelled"},
		},
		{
			name: "bad array items", reason: "are skipped, and the array is kept raw",
			json: `{"sessionUpdate":"tool_call","toolCallId":"1","title":"",
				"locations":[{"path":"/a"},7,{"line":1},{"path":"/b"}]}`,
			want: ToolCall{
				ToolCallID: "1", Locations: []ToolCallLocation{{Path: "/a"}, {Path: "/b"}},
				Extra: unknown(fields{"locations": raw(`[{"path":"/a"},7,{"line":1},{"path":"/b"}]`)}),
			},
		},
		{
			name: "unknown variants", reason: "are kept as themselves",
			json: `{"sessionUpdate":"tool_call","toolCallId":"1","title":"",
				"content":[{"type":"hologram","x":1},{"type":"diff","path":1},
				{"type":"content","content":{"type":"smell"}},{"type":7},"x"]}`,
			want: ToolCall{
				ToolCallID: "1", Content: []ToolCallContent{
					Other{Kind: "hologram", Raw: raw(`{"type":"hologram","x":1}`)},
					Other{Kind: "diff", Raw: raw(`{"type":"diff","path":1}`)},
					Content{Content: Other{Kind: "smell", Raw: raw(`{"type":"smell"}`)}},
				},
				Extra: unknown(fields{"content": raw(`[{"type":"hologram","x":1},{"type":"diff","path":1},` +
					`{"type":"content","content":{"type":"smell"}},{"type":7},"x"]`)}),
			},
		},
		{
			name: "unknown kind", reason: "is kept as itself",
			json: `{"sessionUpdate":"plan_update","plan":{"type":"items"}}`,
			want: Other{Kind: "plan_update", Raw: raw(`{"sessionUpdate":"plan_update","plan":{"type":"items"}}`)},
		},
		{
			name: "known kind without its id", reason: "means nothing",
			json: `{"sessionUpdate":"tool_call","title":"T"}`,
			want: Other{Kind: "tool_call", Raw: raw(`{"sessionUpdate":"tool_call","title":"T"}`)},
		},
		{
			name: "no kind", reason: "there is nothing to keep it as",
			json: `{"title":"T"}`, extra: unknown(fields{"update": raw(`{"title":"T"}`)}),
		},
		{
			name: "no object", reason: "likewise",
			json: `"tool_call"`, extra: unknown(fields{"update": raw(`"tool_call"`)}),
		},
		{
			name: "update that mentions nothing", reason: "leaves all as it is",
			json: `{"sessionUpdate":"tool_call_update","toolCallId":"1"}`,
			want: ToolCallUpdate{ToolCallID: "1"},
		},
		{
			name: "update with nulls", reason: "the protocol takes null for absent; raw values keep it",
			json: `{"sessionUpdate":"tool_call_update","toolCallId":"1","title":null,"content":null,"rawOutput":null}`,
			want: ToolCallUpdate{
				ToolCallID: "1", RawOutput: raw(`null`),
				Extra: unknown(fields{"title": raw(`null`), "content": raw(`null`)}),
			},
		},
		{
			name: "update with empty values", reason: "they replace what was there",
			json: `{"sessionUpdate":"tool_call_update","toolCallId":"1","title":"","status":"failed","content":[],
				"locations":[]}`,
			want: ToolCallUpdate{
				ToolCallID: "1", Title: new(""), Status: new(StatusFailed), Content: []ToolCallContent{},
				Locations: []ToolCallLocation{},
			},
		},
		{
			name: "patch", reason: "absent, null and value differ",
			json: `{"sessionUpdate":"session_info_update","title":null}`,
			want: SessionInfoUpdate{Title: Patch[string]{Set: true, Null: true}},
		},
		{
			name: "patch with a value", reason: "absent, null and value differ",
			json: `{"sessionUpdate":"session_info_update","title":"","updatedAt":7}`,
			want: SessionInfoUpdate{
				Title: Patch[string]{Set: true}, Extra: unknown(fields{"updatedAt": raw(`7`)}),
			},
		},
		{
			name: "patch with bad items", reason: "the good ones count",
			json: `{"sessionUpdate":"compaction_update","compactionId":"c","status":"completed",
				"summary":[{"type":"text","text":"x"},7],"error":null}`,
			want: CompactionUpdate{
				CompactionID: "c", Status: "completed",
				Summary: Patch[[]ContentBlock]{Value: []ContentBlock{TextContent{Text: "x"}}, Set: true},
				Error:   Patch[string]{Set: true, Null: true},
				Extra:   unknown(fields{"summary": raw(`[{"type":"text","text":"x"},7]`)}),
			},
		},
		{
			name: "usage", reason: "what is not reported is not zero",
			json: `{"sessionUpdate":"usage_update","used":9007199254740993,"size":18446744073709551615,
				"cost":{"amount":0.1}}`,
			want: UsageUpdate{
				Used: new(int64(9007199254740993)), Cost: &Cost{Amount: 0.1},
				Extra: unknown(fields{"size": raw(`18446744073709551615`)}),
			},
		},
		{
			name: "numbers that are not integers", reason: "are not rounded",
			json: `{"sessionUpdate":"usage_update","used":1.5,"size":1e3,"cost":{"currency":"USD"}}`,
			want: UsageUpdate{Extra: unknown(fields{
				"used": raw(`1.5`), "size": raw(`1e3`), "cost": raw(`{"currency":"USD"}`),
			})},
		},
		{
			name: "escapes", reason: "names and values may have them",
			json: `{"session\u0055pdate":"agent_message_chunk",
				"content":{"type":"text","text":"\ud83d\ude00\"\\/\u0000","annotations":null}}`,
			want: AgentMessageChunk{Content: TextContent{
				Text: "😀\"\\/\x00", Extra: unknown(fields{"annotations": raw(`null`)}),
			}},
		},
		{
			name: "case matters", reason: "encoding/json would not mind",
			json: `{"sessionUpdate":"current_mode_update","currentModeID":"x","currentModeId":"m"}`,
			want: CurrentModeUpdate{CurrentModeID: "m", Extra: unknown(fields{"currentModeID": raw(`"x"`)})},
		},
		{
			name: "config options", reason: "groups and choices may be mixed, values are strings or bools",
			json: `{"sessionUpdate":"config_option_update","configOptions":[
				{"id":"a","name":"A","type":"select","currentValue":"x",
				"options":[{"group":"g","name":"G","options":[{"value":"x","name":"X"}]},{"value":"y","name":"Y"}]},
				{"id":"b","name":"B","type":"boolean","currentValue":true},
				{"id":"c","name":"C","type":"number","currentValue":7}]}`,
			want: ConfigOptionUpdate{ConfigOptions: []ConfigOption{
				{ID: "a", Name: "A", Type: "select", CurrentValue: "x", Options: []ConfigChoice{
					{Group: "g", Name: "G", Options: []ConfigChoice{{Value: "x", Name: "X"}}}, {Value: "y", Name: "Y"},
				}},
				{ID: "b", Name: "B", Type: "boolean", CurrentValue: true},
				{ID: "c", Name: "C", Type: "number", Extra: unknown(fields{"currentValue": raw(`7`)})},
			}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var got SessionNotification
			require.NoError(t, json.Unmarshal([]byte(oneLine(`{"sessionId":"s","update":`+tt.json+`}`)), &got))
			want := SessionNotification{SessionID: "s", Update: tt.want, Extra: tt.extra}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tt.reason, diff)
			}
		})
	}
}

func TestDecodeErrors(t *testing.T) {
	tests := []struct{ name, json, want string }{
		{
			"missing field", `{"sessionId":"s"}`,
			`acp: decode ReadTextFileRequest: field "path" is missing or of the wrong type`,
		},
		{
			"wrong type", `{"sessionId":"s","path":null}`,
			`acp: decode ReadTextFileRequest: field "path" is missing or of the wrong type`,
		},
		{"no object", `[]`, `acp: decode ReadTextFileRequest: want an object, got "[]"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r ReadTextFileRequest
			require.EqualError(t, json.Unmarshal([]byte(tt.json), &r), tt.want)
		})
	}
	var r ReadTextFileRequest
	require.ErrorIs(t, r.UnmarshalJSON([]byte(`{"sessionId"`)), ErrNotJSON, "also if encoding/json has not checked")
}

// TestDecodedSharesNothing checks that json.Unmarshal may be followed by a change of its input.
func TestDecodedSharesNothing(t *testing.T) {
	data := []byte(`{"sessionId":"s","path":"/a","x":"unknown"}`)
	var r ReadTextFileRequest
	require.NoError(t, json.Unmarshal(data, &r))
	clear(data)
	assert.Equal(t, `"unknown"`, string(r.Unknown["x"]))
}

func TestEncode(t *testing.T) {
	tests := []struct {
		name  string
		value any
		want  string
	}{
		{"variant", TextContent{Text: "<&>"}, `{"type":"text","text":"\u003c\u0026\u003e"}`},
		{
			"variant as a part",
			Content{Content: TextContent{Text: "x"}},
			`{"type":"content","content":{"type":"text","text":"x"}}`,
		},
		{
			"update that is not a variant here",
			RequestPermissionRequest{SessionID: "s", ToolCall: ToolCallUpdate{ToolCallID: "1"}},
			`{"sessionId":"s","toolCall":{"toolCallId":"1"},"options":[]}`,
		},
		{
			"servers",
			NewSessionRequest{Cwd: "/w", McpServers: []McpServer{
				McpServerStdio{Name: "a", Command: "b"}, McpServerHTTP{Name: "c", URL: "d"},
			}},
			`{"cwd":"/w","mcpServers":[{"name":"a","command":"b","args":[],"env":[]},` +
				`{"type":"http","name":"c","url":"d","headers":[]}]}`,
		},
		{
			"patches",
			SessionInfoUpdate{Title: Patch[string]{Set: true, Null: true}},
			`{"sessionUpdate":"session_info_update","title":null}`,
		},
		{
			"empty is not absent",
			ToolCallUpdate{ToolCallID: "1", Title: new(""), Content: []ToolCallContent{}},
			`{"sessionUpdate":"tool_call_update","toolCallId":"1","title":"","content":[]}`,
		},
		{
			"unknown fields",
			Cost{Amount: 1, Extra: Extra{
				Meta:    raw(`{}`),
				Unknown: map[string]json.RawMessage{"z": raw(`1`), "amount": raw(`"1.00"`), "a": raw("[1,\n2]")},
			}},
			`{"currency":"","_meta":{},"a":[1,2],"amount":"1.00","z":1}`,
		},
		{
			"other",
			Content{Content: Other{Kind: "x", Raw: raw(`{"type":"x","y":[]}`)}},
			`{"type":"content","content":{"type":"x","y":[]}}`,
		},
		{
			"message",
			Message{Version: "2.0", ID: `"a"`, Result: raw(`null`)},
			`{"jsonrpc":"2.0","id":"a","result":null}`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.value)
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
		})
	}
}

// TestTranscriptsSurviveEncoding checks that what was decoded from a transcript and encoded again is decoded to the
// same.
func TestTranscriptsSurviveEncoding(t *testing.T) {
	for _, transcript := range readTranscripts(t) {
		var d Decoder
		for i, f := range transcript.frames {
			v, err := d.View(f)
			require.NoError(t, err)
			if v.Body == nil {
				continue
			}
			text, err := json.Marshal(v.Body)
			require.NoError(t, err)
			again := reflect.New(reflect.TypeOf(v.Body))
			require.NoError(t, json.Unmarshal(text, again.Interface()))
			if diff := cmp.Diff(v.Body, again.Elem().Interface(), compactRaw); diff != "" {
				t.Fatalf("%s, frame %d (-first +second):\n%s", transcript.name, i, diff)
			}
		}
	}
}

// compactRaw compares raw values by what they mean.
var compactRaw = cmp.Transformer("raw", func(m json.RawMessage) any {
	var v any
	if m != nil && json.Unmarshal(m, &v) != nil {
		return string(m)
	}
	return v
})

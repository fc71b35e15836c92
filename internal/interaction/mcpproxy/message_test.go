package mcpproxy

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

type fields = map[string]any

// TestRequests holds how requests are recorded, and what of them a server gets.
func TestRequests(t *testing.T) {
	const capabilities = `{"elicitation":{},"experimental":{"x":1},"roots":{},"sampling":{},"tasks":{}}`
	const without = `{"experimental":{"x":1}}`
	meta := `"_meta":{"` + mcp.MetaKeyClientCapabilities + `":CAPABILITIES,"progressToken":1}`
	tests := []struct {
		name, method, params string
		want                 trajectory.MCPCall // without Server and Method
		sent                 string             // to the server; empty: as it came
		err                  string
	}{
		{name: "nothing", method: "tools/list"},
		{name: "nothing in it", method: "tools/list", params: `{}`},
		{name: "only about the request", method: "tools/list", params: `{"_meta":{"progressToken":1}}`},
		{
			name: "something", method: "tools/list", params: `{"cursor":"c"}`,
			want: trajectory.MCPCall{Params: fields{"cursor": "c"}},
		},
		{
			name: "a call", method: "tools/call", params: `{"name":"count","arguments":{"of":"tea"}}`,
			want: trajectory.MCPCall{Tool: "count", Params: fields{"of": "tea"}},
		},
		{
			name: "a call without arguments", method: "tools/call", params: `{"name":"count"}`,
			want: trajectory.MCPCall{Tool: "count", Params: fields{}},
		},
		{
			name: "the first", method: "initialize",
			params: `{"capabilities":` + capabilities + `,"clientInfo":{"name":"a"},"protocolVersion":"1"}`,
			want:   trajectory.MCPCall{Params: fields{"protocolVersion": "1"}},
			sent:   `{"capabilities":` + without + `,"clientInfo":{"name":"a"},"protocolVersion":"1"}`,
		},
		{
			name: "the first without offers", method: "initialize",
			params: `{"protocolVersion": "1", "capabilities": {}}`,
			want:   trajectory.MCPCall{Params: fields{"protocolVersion": "1"}},
		},
		{
			name: "offers of another method", method: "x/y", params: `{"capabilities":` + capabilities + `}`,
			want: trajectory.MCPCall{Params: fields{"capabilities": fields{
				"elicitation": fields{}, "experimental": fields{"x": json.Number("1")}, "roots": fields{},
				"sampling": fields{}, "tasks": fields{},
			}}},
		},
		{
			name: "offers with each request", method: "tools/list",
			params: `{` + strings.Replace(meta, "CAPABILITIES", capabilities, 1) + `}`,
			sent:   `{` + strings.Replace(meta, "CAPABILITIES", without, 1) + `}`,
		},
		{name: "a list", method: "x/y", params: `[1]`, err: `params of x/y: "[1]" is not an object`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := acp.Message{Method: tt.method, Params: json.RawMessage(tt.params)}
			sent := withoutOffers(r)
			assert.Equal(t, tt.method, sent.Method)
			if tt.sent == "" {
				assert.Equal(t, r, sent, "it is not even written anew")
			} else {
				assert.JSONEq(t, tt.sent, string(sent.Params))
			}
			got, err := callOf("shop", r)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			tt.want.Server, tt.want.Method = "shop", tt.method
			assert.Equal(t, tt.want, got)
		})
	}
}

// TestAnswers holds how answers are recorded, and that a recording gives the same ones.
func TestAnswers(t *testing.T) {
	call := trajectory.MCPCall{Server: "shop", Method: "tools/call", Tool: "count"}
	wire := func(data string) *acp.Error {
		return &acp.Error{Code: -5, Message: "no", Data: json.RawMessage(data)}
	}
	tests := []struct {
		name   string
		answer acp.Message
		result any
		err    *trajectory.MCPError
	}{
		{"a result", acp.Message{Result: json.RawMessage(`{"a":"<1>"}`)}, fields{"a": "<1>"}, nil},
		{"nothing", acp.Message{Result: json.RawMessage(`null`)}, nil, nil},
		{"an error", acp.Message{Error: wire("")}, nil, &trajectory.MCPError{Code: -5, Message: "no"}},
		{
			"an error with data",
			acp.Message{Error: wire(`7`)},
			nil,
			&trajectory.MCPError{Code: -5, Message: "no", Data: json.Number("7")},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := withAnswer(call, tt.answer)
			want := call
			want.Result, want.Error = tt.result, tt.err
			assert.Equal(t, want, got)
			assert.Equal(t, want, withAnswer(call, response("", got)))
		})
	}
}

// TestRecorded holds what of recorded turns answers an agent, and where it says that it was recorded.
func TestRecorded(t *testing.T) {
	list := trajectory.MCPCall{Server: "shop", Method: "tools/list"}
	call := trajectory.MCPCall{Server: "shop", Method: "tools/call", Tool: "count", Params: fields{"of": "tea"}}
	event := func(b trajectory.Body) trajectory.Event { return trajectory.Event{Body: b} }
	r := Recorded([]cassette.Turn{
		{Events: []trajectory.Event{event(trajectory.Prompt{Text: "p"}), event(list)}},
		{Events: []trajectory.Event{event(trajectory.Prompt{Text: "q"}), event(list), event(call)}},
	})
	require.Equal(t, []trajectory.MCPCall{list, list, call}, r.Calls)
	unused := r.Recording.Unused(nil)
	require.Len(t, unused, 1, "what describes a server may be left")
	require.Equal(t, "turn 2, event 3", unused[0].Position)
	require.Equal(t, "mcp__shop__count", unused[0].Tool)

	p := newPlayer(r)
	p.pass(list, fields{})
	require.Len(t, r.Recording.Unused(nil), 1)
	asked := call
	asked.Params = "as the agent has it"
	p.pass(asked, call.Params)
	require.Empty(t, r.Recording.Unused(nil), "an override has answered it")
}

// TestServerError holds that what is wrong with a server can be told from its cause.
func TestServerError(t *testing.T) {
	gone := errors.New("is gone")
	server := plan.MCPServer{}
	server.Name, server.Command = "shop", []string{"shop-server", "-v"}
	var err error = &ServerError{Server: server, Err: gone}
	require.EqualError(t, err, `the MCP server "shop" (shop-server -v) is gone`)
	require.ErrorIs(t, err, gone)
}

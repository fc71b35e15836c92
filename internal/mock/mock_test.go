package mock_test

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/mock"
)

var shop = mock.Server{
	Name: "shop",
	Tools: map[string]mock.Tool{
		"echo": {
			Description: "Echoes.", InputSchema: map[string]any{"type": "object"},
			Body: "{{input.a}}|{{ input.list.1.b }}|{{input.none}}|{{input.n}}|{{input}}",
		},
		"held":  {InputSchema: map[string]any{"type": "object"}, Body: "<{{file:notes/{input.name}.txt}}>", Dir: 1},
		"out":   {InputSchema: map[string]any{"type": "object"}, Body: "{{file:../secret}}"},
		"wrong": {InputSchema: map[string]any{"type": "object"}, Body: "sold out", Error: true},
		"guarded": {InputSchema: map[string]any{"type": "object"}, Body: "fine", Expect: []mock.Guard{
			{Path: "kind", Shown: "tea", OneOf: []string{"tea", "1", "true"}},
			{Path: "of.size", Shown: "number", Type: "number"},
			{Path: "note", Shown: "/^a/", Matches: "^a", Most: 20},
		}},
	},
	Files: map[string]string{"1/notes/tea.txt": "green", "0/notes/tea.txt": "of the other directory"},
}

func TestCall(t *testing.T) {
	for _, tt := range []struct {
		name, tool, args string
		want             mock.Verdict
		text             string
	}{
		{
			"fields", "echo", `{"a": "x", "list": [0, {"b": {"c": 1.0, "d": "<"}}], "n": null}`, mock.OK,
			`x|{"c":1,"d":"<"}||null|{{input}}`,
		},
		{"a number of JavaScript's", "echo", `{"a": 1.50e2}`, mock.OK, "150||||{{input}}"},
		{"file", "held", `{"name": "tea"}`, mock.OK, "<green>"},
		{"no such file", "held", `{"name": "milk"}`, mock.Failed, "{{file:notes/milk.txt}}: no such fixture"},
		{
			"a name that is a path", "held", `{"name": "../tea"}`, mock.Failed,
			`{input.name} = "../tea" is not a plain file-name segment`,
		},
		{
			"a name that leads up", "held", `{"name": ".."}`, mock.Failed,
			`{input.name} = ".." is not a plain file-name segment`,
		},
		{"no name", "held", `{}`, mock.Failed, "{input.name} = (missing) is not a plain file-name segment"},
		{"file outside", "out", `{}`, mock.Failed, "{{file:../secret}} names a path outside the mock's directory"},
		{"error", "wrong", `{}`, mock.Failed, "sold out"},
		{"unknown tool", "burn", `{}`, mock.Failed, "no mock for shop/burn"},
		{"guards hold", "guarded", `{"kind": "tea", "of": {"size": 2}, "note": "abc"}`, mock.OK, "fine"},
		{"a number as text", "guarded", `{"kind": 1, "of": {"size": 2}, "note": "a"}`, mock.OK, "fine"},
		{
			"none of the values", "guarded", `{"kind": "milk"}`, mock.Refused,
			`kind = "milk" is not one of [tea, 1, true]`,
		},
		{"no scalar", "guarded", `{"kind": ["tea"]}`, mock.Refused, `kind = ["tea"] is not one of`},
		{
			"another type", "guarded", `{"kind": true, "of": {"size": "2"}}`, mock.Refused,
			`of.size = "2" is not a number`,
		},
		{"missing", "guarded", `{"kind": true, "of": 3}`, mock.Refused, `of.size = (missing) is not a number`},
		{
			"no match", "guarded", `{"kind": "1", "of": {"size": 0}, "note": "ba"}`, mock.Refused,
			`note = "ba" does not match /^a/`,
		},
		{
			"too long", "guarded", `{"kind": "1", "of": {"size": 0}, "note": "aaaaaaaaaaaaaaaaaaa😀"}`, mock.Refused,
			"note is 21 characters, more than this /regex/ guard checks (20)",
		},
		{"no arguments", "guarded", `[]`, mock.Refused, "kind = (missing) is not one of"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var args any
			require.NoError(t, jsonvalue.Decode([]byte(tt.args), &args))
			got := shop.Call(tt.tool, args)
			assert.Equal(t, tt.want, got.Verdict)
			assert.Contains(t, got.Text, tt.text)
		})
	}
}

// TestServe has a client of the protocol's own speak with a server.
func TestServe(t *testing.T) {
	ctx := t.Context()
	toServer, fromClient := io.Pipe()
	toClient, fromServer := io.Pipe()
	ended := make(chan error)
	go func() { ended <- shop.Serve(toServer, fromServer) }()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(ctx, &mcp.IOTransport{Reader: toClient, Writer: fromClient}, nil)
	require.NoError(t, err)
	tools, err := session.ListTools(ctx, nil)
	require.NoError(t, err)
	require.Len(t, tools.Tools, 5)
	assert.Equal(t, "echo", tools.Tools[0].Name)
	assert.Equal(t, "Echoes.", tools.Tools[0].Description)
	for name, wrong := range map[string]bool{"echo": false, "wrong": true, "burn": true, "guarded": true} {
		got, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name})
		require.NoError(t, err)
		assert.Equal(t, wrong, got.IsError, name)
		require.Len(t, got.Content, 1, name)
		assert.NotEmpty(t, got.Content[0].(*mcp.TextContent).Text, name)
	}
	require.NoError(t, session.Ping(ctx, nil))
	require.NoError(t, fromClient.Close())
	require.NoError(t, <-ended)
	require.NoError(t, fromServer.Close())
}

// TestServeHostile sends what no client would.
func TestServeHostile(t *testing.T) {
	lines := func(in string) []string {
		var out bytes.Buffer
		require.NoError(t, shop.Serve(strings.NewReader(in), &out))
		return strings.Split(strings.TrimSpace(out.String()), "\n")
	}
	assert.Equal(t, []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"the message is no JSON-RPC request"}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"unknown method x"}}`,
		`{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"the parameters are no call of a tool"}}`,
	}, lines("nonsense\n"+`{"id":1,"method":"x"}`+"\n"+`{"method":"notifications/initialized"}`+"\n"+
		`{"id":2,"method":"tools/call","params":[]}`))
	err := shop.Serve(strings.NewReader(strings.Repeat("x", 17<<20)), io.Discard)
	assert.Error(t, err, "a line without an end")
}

func FuzzCall(f *testing.F) {
	f.Add("{{input.a}} {{file:{input.a}.txt}}", `{"a": "b"}`)
	f.Add("{{input.a.0.b}}", `{"a": [{"b": 1e400}]}`)
	f.Fuzz(func(t *testing.T, body, text string) {
		var args any
		if jsonvalue.Decode([]byte(text), &args) != nil {
			return
		}
		s := mock.Server{Name: "s", Tools: map[string]mock.Tool{"t": {Body: body}}}
		first := s.Call("t", args)
		assert.Equal(t, first, s.Call("t", args))
		assert.Contains(t, []mock.Verdict{mock.OK, mock.Failed}, first.Verdict)
	})
}

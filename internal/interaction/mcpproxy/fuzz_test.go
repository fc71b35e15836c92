package mcpproxy_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// FuzzAgent holds that whatever an agent sends is answered with messages of the protocol, or ends its connection.
func FuzzAgent(f *testing.F) {
	for _, lines := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize",` +
			`"params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}}}}`,
		`{"jsonrpc":"2.0","id":"a","method":"tools/call",` +
			`"params":{"name":"count","arguments":{"of":"tea"},"_meta":{"progressToken":1}}}`,
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"tools/list","params":null}]`,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`,
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1.5}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["count"],"arguments":[1]}}`,
	} {
		f.Add(lines + "\n")
	}
	dir := f.TempDir()
	call := trajectory.MCPCall{
		Server: "shop", Method: "tools/call", Tool: "count", Params: map[string]any{"of": "tea"},
		Result: "one",
	}
	p, err := mcpproxy.Listen(mcpproxy.Config{
		Dir: dir, Servers: []plan.MCPServer{{MCPServer: playbook.MCPServer{Name: "shop"}}},
		Replay: mcpproxy.Recorded([]cassette.Turn{{Events: []trajectory.Event{{Turn: 1, Body: call}}}}),
		Overrides: interaction.NewOverrides(
			[]interaction.Override{{Tool: "mcp__shop__count", Args: map[string]any{"of": "x"}, Output: "many"}}),
		OnCall: func(trajectory.MCPCall) {},
	})
	require.NoError(f, err)
	f.Cleanup(func() { require.NoError(f, p.Close()) })
	f.Fuzz(func(t *testing.T, lines string) {
		conn, err := net.Dial("unix", filepath.Join(dir, "0.sock"))
		require.NoError(t, err)
		defer conn.Close()
		require.NoError(t, conn.SetDeadline(time.Now().Add(waitTime)))
		go func() {
			_, _ = io.WriteString(conn, lines) // up to the end of the connection
			_ = conn.(*net.UnixConn).CloseWrite()
		}()
		answers := bufio.NewScanner(conn)
		answers.Buffer(nil, 64<<20)
		for answers.Scan() {
			require.True(t, json.Valid(answers.Bytes()), answers.Text())
		}
		if err := answers.Err(); err != nil {
			require.ErrorContains(t, err, "reset", "what it sent was not read to its end")
		}
	})
}

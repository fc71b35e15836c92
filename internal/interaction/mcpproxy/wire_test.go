package mcpproxy_test

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy"
)

// TestWire holds what an agent reads that is answered from a recording.
func TestWire(t *testing.T) {
	const listen = `{"jsonrpc":"2.0","id":"s","method":"subscriptions/listen",` +
		`"params":{"notifications":{"toolsListChanged":true}}}` + "\n"
	const acknowledged = `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":` +
		`{"_meta":{"io.modelcontextprotocol/subscriptionId":"s"},"notifications":{"toolsListChanged":true}}}` + "\n"
	describe := func(method, says string) trajectory.MCPCall {
		return trajectory.MCPCall{Server: "shop", Method: method, Result: says}
	}
	calls := []trajectory.MCPCall{
		describe("initialize", "old"), describe("resources/templates/list", "old"), describe("tools/list", "old"),
		{
			Server: "shop", Method: "tools/call", Tool: "fail", Params: map[string]any{},
			Error: &trajectory.MCPError{Code: -7, Message: "no $W", Data: "in $W"},
		},
		describe("resources/templates/list", "new"), describe("tools/list", "old"), describe("initialize", "new"),
	}
	const fail = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"fail"}}` + "\n"
	const failed = `{"jsonrpc":"2.0","id":2,"error":{"code":-7,"message":"no /w","data":"in /w"}}` + "\n"
	list := func(method string) string {
		return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":{}}` + "\n"
	}
	tests := []struct{ name, lines, want string }{
		{"ping", `{"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"},
		{"a request without an id", `{"jsonrpc":"2.0","id":null,"method":"ping"}` + "\n", ""},
		{"listen", listen, acknowledged},
		{"list", list("tools/list"), `{"jsonrpc":"2.0","id":1,"result":"old"}` + "\n"},
		{
			"changed lists", fail + list("resources/templates/list"), failed +
				`{"jsonrpc":"2.0","method":"notifications/resources/list_changed","params":{}}` + "\n" +
				`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}` + "\n" +
				`{"jsonrpc":"2.0","id":1,"result":"new"}` + "\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := replayScene(t, replayOf(t, calls), func(c *mcpproxy.Config) {
				c.Denormalise = func(v any) any { return mapped(v, "$W", "/w") }
			}, server("shop", "shop"))
			conn, err := net.Dial("unix", s.socket(0))
			require.NoError(t, err)
			_, err = io.WriteString(conn, tt.lines)
			require.NoError(t, err)
			require.NoError(t, conn.(*net.UnixConn).CloseWrite())
			got, err := io.ReadAll(conn)
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
			_, errs := s.seen()
			require.Empty(t, errs)
		})
	}
}

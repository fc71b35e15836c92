package mcpproxy_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// TestUnchanged holds that a request reaches the server as the agent sent it, and the answer the agent, whatever is in
// them, and however the server writes the request's id.
func TestUnchanged(t *testing.T) {
	tests := []struct {
		name, asked, id string
	}{
		{"a number", `{"jsonrpc":"2.0","id":1,"method":"a/b","params":{"n":12345678901234567890.10,"t":"<é>&"}}`, "1"},
		{"a number with a point", `{"jsonrpc":"2.0","id":1,"method":"m"}`, "1.0"},
		{"zero", `{"jsonrpc":"2.0","id":0,"method":"m","params":{}}`, "0"},
		{"a text", `{"jsonrpc":"2.0","id":"é","method":"m","params":{"a":[null,[]]}}`, `"\u00e9"`},
		{"an empty text", `{"jsonrpc":"2.0","id":"","method":"m"}`, `""`},
		{"no params", `{"jsonrpc":"2.0","id":7,"method":"m","params":null}`, "7"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			echo := server("echo", "echo")
			echo.Command = append(echo.Command, tt.id)
			s := newScene(t, nil, echo)
			conn, err := net.Dial("unix", s.socket(0))
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, "\n"+tt.asked+"\r\n \n")
			require.NoError(t, err)
			answer, err := bufio.NewReader(conn).ReadString('\n')
			require.NoError(t, err)
			_, id, _ := strings.Cut(tt.asked, `"id":`)
			id, _, _ = strings.Cut(id, ",")
			assert.Equal(t, `{"jsonrpc":"2.0","id":`+id+`,"result":`+tt.asked+`,"error":null,"x":[1]}`+"\n", answer)
			_, errs := s.seen()
			assert.Empty(t, errs)
		})
	}
}

// TestInvalidMessages holds that a line that is no message ends the connection with an error that shows it.
func TestInvalidMessages(t *testing.T) {
	for _, line := range []string{
		`{}`,
		`null`,
		`[]`,
		`"hello"`,
		`[{"jsonrpc":"2.0","id":1,"method":"m"}]`,
		`{"jsonrpc":"1.0","id":1,"method":"m"}`,
		`{"id":1,"method":"m"}`,
		`{"jsonrpc":"2.0","id":{},"method":"m"}`,
		`{"jsonrpc":"2.0","id":1,"method":5}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m"}}`,
		`{"jsonrpc":"2.0","id":1,"error":"no"}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":"x","message":"m"}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":{}}}`,
	} {
		t.Run(line, func(t *testing.T) {
			s := replayScene(t, &mcpproxy.Replay{}, nil,
				plan.MCPServer{MCPServer: playbook.MCPServer{Name: "shop", Command: []string{"shop"}}})
			conn, err := net.Dial("unix", s.socket(0))
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, line+"\n")
			require.NoError(t, err)
			got, err := io.ReadAll(conn)
			require.NoError(t, err)
			assert.Empty(t, string(got))
			_, errs := s.seen()
			require.Len(t, errs, 1)
			assert.EqualError(t, errs[0], fmt.Sprintf(`the agent sent the MCP server "shop" an invalid message: %q `+
				"is not one message of JSON-RPC 2.0", line+"\n"))
		})
	}
}

package mcpproxy

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// talk is a conversation with a server that says this.
func talk(t *testing.T, says string) *conversation {
	t.Helper()
	p, err := Listen(Config{Dir: t.TempDir(), StartTimeout: time.Hour})
	require.NoError(t, err)
	return &conversation{
		proxy: p, server: plan.MCPServer{MCPServer: playbook.MCPServer{Name: "shop", Command: []string{"shop"}}},
		agent: newWire(strings.NewReader(""), io.Discard),
		real:  &realServer{wire: newWire(strings.NewReader(says), io.Discard)},
	}
}

// TestLate: a server's first answer has to come in time, and no other.
func TestLate(t *testing.T) {
	request := acp.Message{ID: "1", Method: "tools/list"}
	c := talk(t, `{"jsonrpc":"2.0","id":1,"result":{}}`+"\nno message\n")
	require.True(t, c.usable(acp.Message{Method: "notifications/initialized"}))
	require.Nil(t, c.real.late, "nobody waits for an answer to a notification")
	require.True(t, c.usable(request))
	first := c.real.late
	require.NotNil(t, first)
	require.True(t, c.usable(request))
	require.Same(t, first, c.real.late)
	c.readServer()
	require.False(t, first.Stop(), "it has answered")
	require.ErrorContains(t, c.serverError(), "sent an invalid message")
	require.False(t, c.usable(request))

	c = talk(t, "")
	c.inTime()
	require.True(t, c.usable(request))
	require.Nil(t, c.real.late)
}

// TestUnended: a server that could not be ended is an error of the proxy's end.
func TestUnended(t *testing.T) {
	c := talk(t, "")
	c.keepStopError(nil)
	c.keepStopError(errors.New("it is a zombie"))
	require.EqualError(t, c.proxy.Close(), `end the MCP server "shop": it is a zombie`)
}

// TestLastWords: what a server says while it ends is still told.
func TestLastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := talk(t, "")
		said, over := make(chan bool), false
		c.real.listening.Go(func() { <-said })
		go func() {
			c.stopReal()
			over = true
		}()
		synctest.Wait()
		require.False(t, over)
		close(said)
		synctest.Wait()
		require.True(t, over)
	})
}

// TestEncoded: what is no JSON is a mistake of ours.
func TestEncoded(t *testing.T) {
	require.JSONEq(t, `{"a":"<b>"}`, string(encoded(map[string]any{"a": "<b>"})))
	require.PanicsWithValue(t, "mcpproxy: a message that is no JSON: json: unsupported type: chan int",
		func() { encoded(make(chan int)) })
}

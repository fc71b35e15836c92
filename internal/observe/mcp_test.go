package observe

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// names are the events in short.
func names(events []trajectory.Event) []string {
	var all []string
	for _, e := range events {
		name := e.Body.EventName()
		if c, ok := e.Body.(trajectory.MCPCall); ok {
			name = c.Server + ":" + c.Method
		}
		all = append(all, name)
	}
	return all
}

func TestMCP(t *testing.T) {
	var o Observer
	now := time.Unix(0, 0)
	seen := func(server, method string) { o.MCP(now, trajectory.MCPCall{Server: server, Method: method}) }
	seen("b", "initialize") // before anything else
	feed(t, &o, prompt, update(`"sessionUpdate":"tool_call","toolCallId":"1"`))
	now = time.Unix(1, 500)
	seen("a", "initialize")
	seen("b", "tools/call")
	seen("b", "tools/list")
	feed(t, &o, update(`"sessionUpdate":"tool_call_update","toolCallId":"1","status":"completed"`), endTurn)
	events := o.Turn()
	require.Equal(t, []string{
		"prompt", "a:initialize", "b:initialize", "b:tools/list", "tool_call", "b:tools/call",
		"tool_result", "stop",
	}, names(events))
	assert.Equal(t, time.Second+500, events[5].At)
	for _, e := range events {
		assert.Equal(t, 1, e.Turn)
	}

	seen("a", "tools/list") // between two turns
	seen("a", "resources/read")
	seen("b", "tools/list") // once more: it has changed since
	feed(t, &o, strings.Replace(prompt, `"id":0`, `"id":1`, 1), strings.Replace(endTurn, `"id":0`, `"id":1`, 1))
	events = o.Turn()
	require.Equal(t, []string{"a:resources/read", "b:tools/list", "prompt", "a:tools/list", "stop"}, names(events))
	for _, e := range events {
		assert.Equal(t, 2, e.Turn, "it belongs to the turn that follows")
	}
}

func TestMCPWithoutPrompt(t *testing.T) {
	var o Observer
	o.MCP(time.Unix(0, 0), trajectory.MCPCall{Server: "a", Method: "initialize"})
	require.Equal(t, []trajectory.Event{{Turn: 1, Body: trajectory.MCPCall{Server: "a", Method: "initialize"}}},
		o.Turn())
}

func TestMCPTooLarge(t *testing.T) {
	for _, method := range []string{"tools/list", "tools/call"} {
		o := Observer{limit: 20_000}
		for range 10 {
			o.MCP(time.Unix(0, 0), trajectory.MCPCall{Server: "a", Method: method, Result: strings.Repeat("x", 2000)})
		}
		require.ErrorIs(t, o.Err(), ErrTooLarge, method)
	}
}

func TestMCPFromManyGoroutines(t *testing.T) {
	var o Observer
	var all sync.WaitGroup
	for range 10 {
		all.Go(func() { o.MCP(time.Unix(0, 0), trajectory.MCPCall{Server: "a", Method: "tools/call"}) })
	}
	feed(t, &o, prompt)
	all.Wait()
	require.Len(t, o.Turn(), 11)
}

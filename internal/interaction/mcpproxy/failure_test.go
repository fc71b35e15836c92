package mcpproxy_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/playbook"
)

func TestServersThatFail(t *testing.T) {
	tests := []struct {
		name    string
		server  plan.MCPServer
		timeout time.Duration
		want    []string
	}{
		{"gone", plan.MCPServer{MCPServer: playbook.MCPServer{Name: "gone", Command: []string{
			"no-such-server",
			"--x",
		}}}, 0, []string{`the MCP server "gone" (no-such-server --x) cannot be started: `, "not found"}},
		{"ends", server("shop", "unlicensed"), 0, []string{
			`the MCP server "shop" (`,
			"unlicensed) ended by itself: exit code 3; it said: ", "no licence for this machine",
		}},
		{"mute", server("shop", "mute"), 0, []string{"closed its output but did not exit"}},
		{"ends well", server("shop", "nothing"), 0, []string{"ended by itself: exit code 0"}},
		{
			"garbage", server("shop", "garbage"), 0,
			[]string{"sent an invalid message", `"Listening on port 3000\n"`},
		},
		{
			"late garbage", server("shop", "late garbage"), 0,
			[]string{"sent an invalid message", `"debug: warming up\n"`},
		},
		{"flood", server("shop", "flood"), 0, []string{
			"sent an invalid message: the line has more than 16777216 bytes: ", `"{\"jsonrpc\"`,
		}},
		{
			"silent", server("shop", "silent"), 2 * time.Second,
			[]string{"did not answer its first request (initialize) within 2s", "it said: serving silent"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScene(t, func(c *mcpproxy.Config) { c.StartTimeout = tt.timeout }, tt.server)
			_, err := s.tryConnect(0, "2025-06-18")
			require.Error(t, err)
			_, errs := s.seen()
			require.Len(t, errs, 1)
			for _, part := range tt.want {
				assert.Contains(t, errs[0].Error(), part)
				assert.Contains(t, err.Error(), part, "the agent is told, too")
			}
		})
	}
}

func TestCrash(t *testing.T) {
	s := newScene(t, func(c *mcpproxy.Config) {
		c.Mask = func(text string) string { return strings.ReplaceAll(text, "sk-"+"test-1234", "[masked]") }
	}, server("shop", "shop"))
	a := s.connect(0, "2025-06-18")
	a.call("count", nil)
	got := a.call("crash", nil)
	assert.Contains(t, got, "ended by itself: exit code 7; it said: serving shop\npanic: out of memory, key [masked]")
	assert.Contains(t, a.call("count", nil), "exit code 7", "it stays broken")
	calls, errs := s.seen()
	require.Len(t, errs, 1)
	assert.Equal(t, []string{"initialize", "tools/call count", "tools/call crash", "tools/call count"}, methods(calls))

	fresh := s.connect(0, "2025-06-18") // as an agent that starts its servers anew
	assert.Contains(t, fresh.call("count", nil), `"1"`)
}

// TestWaiting holds that what a server has not answered can be told, and that nothing else is.
func TestWaiting(t *testing.T) {
	s := newScene(t, func(c *mcpproxy.Config) {
		c.Mask = func(text string) string { return strings.ReplaceAll(text, "sk-"+"test-1234", "[masked]") }
	}, server("shop", "shop"))
	a := s.connect(0, "2025-06-18")
	a.call("count", nil)
	require.NoError(t, s.proxy.Waiting())
	answered := make(chan string)
	go func() {
		answered <- a.call("hang", map[string]any{"key": "sk-" + "test-1234", "text": strings.Repeat("ü", 1000)})
	}()
	require.Eventually(t, func() bool { return s.proxy.Waiting() != nil }, waitTime, time.Millisecond)
	err := s.proxy.Waiting()
	require.ErrorContains(t, err, `the MCP server "shop" (`)
	require.ErrorContains(t, err, `has not answered mcp__shop__hang {"key":"[masked]","text":"ü`)
	require.Less(t, len(err.Error()), 1000)
	require.NoError(t, s.proxy.Close())
	<-answered
	require.NoError(t, s.proxy.Waiting())
}

// TestPanics holds that a panic of who gets the calls is reported with its stack, on whichever goroutine it is.
func TestPanics(t *testing.T) {
	breakDown := func(c *mcpproxy.Config) {
		c.OnCall = func(trajectory.MCPCall) { panic("out of order") }
	}
	recorded := trajectory.MCPCall{Server: "shop", Method: "initialize", Result: map[string]any{}}
	for name, scene := range map[string]func(*testing.T) *scene{
		"a server's": func(t *testing.T) *scene { return newScene(t, breakDown, server("shop", "shop")) },
		"an agent's": func(t *testing.T) *scene {
			return replayScene(t, replayOf(t, []trajectory.MCPCall{recorded}), breakDown, server("shop", "shop"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := scene(t)
			conn, err := net.Dial("unix", s.socket(0))
			require.NoError(t, err)
			defer conn.Close()
			_, err = io.WriteString(conn, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
				`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}`+"\n")
			require.NoError(t, err)
			require.Eventually(t, func() bool { _, errs := s.seen(); return len(errs) > 0 }, waitTime, time.Millisecond)
			_, errs := s.seen()
			caught, ok := errors.AsType[*panics.Error](errs[0])
			require.True(t, ok, errs[0])
			assert.Equal(t, "out of order", caught.Value)
			assert.Contains(t, string(caught.Stack), "TestPanics")
		})
	}
}

// TestCloseWhileBusy holds that nothing survives, whatever is going on; that is looked for at the end of each test.
func TestCloseWhileBusy(t *testing.T) {
	s := newScene(t, nil, server("shop", "shop"), server("silent", "silent"))
	a := s.connect(0, "2025-06-18")
	answered := make(chan string)
	go func() { answered <- a.call("hang", nil) }()
	// A connection that asks nothing, and one that asks and does not read.
	var asked strings.Builder
	for id := range 100 {
		fmt.Fprintf(&asked, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", id)
	}
	for n, lines := range []string{"", asked.String()} {
		conn, err := net.Dial("unix", s.socket(n))
		require.NoError(t, err)
		defer conn.Close()
		_, err = io.WriteString(conn, lines)
		require.NoError(t, err)
	}
	require.Eventually(t, func() bool { s.mu.Lock(); defer s.mu.Unlock(); return len(s.processes) == 3 }, waitTime,
		time.Millisecond)
	require.NoError(t, s.proxy.Close())
	require.FileExists(t, s.socket(0), "what is at its name by then may be another's")
	assert.Contains(t, <-answered, "error: ")
	_, errs := s.seen()
	assert.Empty(t, errs, "that all ends is no error")
}

// TestCloseUnread holds that an agent which does not read keeps nobody waiting.
func TestCloseUnread(t *testing.T) {
	list := trajectory.MCPCall{Server: "shop", Method: "tools/list", Result: strings.Repeat("x", 4<<20)}
	s := replayScene(t, replayOf(t, []trajectory.MCPCall{list}), nil, server("shop", "shop"))
	conn, err := net.Dial("unix", s.socket(0))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`+"\n")
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, 10))
	require.NoError(t, err)
	require.NoError(t, s.proxy.Close())
}

// TestCloseUnreadServer holds that a server which does not read keeps nobody waiting.
func TestCloseUnreadServer(t *testing.T) {
	s := newScene(t, nil, server("shop", "deaf"))
	conn, err := net.Dial("unix", s.socket(0))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, `{"jsonrpc":"2.0","id":1,"method":"initialize"}`+"\n")
	require.NoError(t, err)
	_, err = bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	long := `{"jsonrpc":"2.0","method":"m","params":{"a":"` + strings.Repeat("x", 1<<20) + `"}}` + "\n"
	for err = nil; err == nil; { // until the proxy does not read either
		require.NoError(t, conn.SetWriteDeadline(time.Now().Add(200*time.Millisecond)))
		_, err = io.WriteString(conn, long)
	}
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	closed := make(chan error, 1)
	go func() { closed <- s.proxy.Close() }()
	select {
	case err := <-closed:
		require.NoError(t, err)
	case <-time.After(waitTime):
		t.Error("it waits for the server to read")
		_, _ = s.processes[0].Kill()
	}
}

// TestBrokenServerEnds holds that a server with which something is wrong ends at once, whatever the agent does then.
func TestBrokenServerEnds(t *testing.T) {
	s := newScene(t, nil, server("shop", "garbage"))
	conn, err := net.Dial("unix", s.socket(0))
	require.NoError(t, err)
	defer conn.Close()
	require.Eventually(t, func() bool { _, errs := s.seen(); return len(errs) == 1 }, waitTime, time.Millisecond)
	select {
	case <-s.processes[0].Done():
	case <-time.After(waitTime):
		t.Error("it is alive")
	}
}

// TestStubbornServer holds that a server does not outlive the agent's connection, even if it wants to.
func TestStubbornServer(t *testing.T) {
	s := newScene(t, nil, server("shop", "stubborn"))
	a := s.connect(0, "2025-06-18")
	a.call("count", nil)
	require.NoError(t, a.Close())
	select {
	case <-s.processes[0].Done():
	case <-time.After(waitTime):
		t.Error("it is alive")
	}
	_, errs := s.seen()
	assert.Empty(t, errs)
}

// TestAgentLeaves holds that a server ends with the agent's connection, and what it was asked is told.
func TestAgentLeaves(t *testing.T) {
	s := newScene(t, nil, server("shop", "shop"))
	conn, err := net.Dial("unix", s.socket(0))
	require.NoError(t, err)
	_, err = io.WriteString(conn, `{"jsonrpc":"2.0","id":1,"method":"initialize",`+
		`"params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"a","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hang"}}
`)
	require.NoError(t, err)
	_, err = bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	require.NoError(t, conn.Close())
	require.Eventually(t, func() bool { calls, _ := s.seen(); return len(calls) == 2 }, waitTime, time.Millisecond)
	calls, errs := s.seen()
	assert.Empty(t, errs)
	assert.Equal(t, &trajectory.MCPError{Code: -32800, Message: "the agent went away before the answer"},
		calls[1].Error)
	<-s.processes[0].Done()
}

func TestAgentsThatFail(t *testing.T) {
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize"}` + "\n"
	tests := []struct {
		name, lines, answer string
		errs                []string
	}{
		{
			"garbage", "hello\n", "",
			[]string{`the agent sent the MCP server "shop" an invalid message`},
		},
		{"cut", `{"jsonrpc":"2.0","id"`, "", nil},
		{
			"params that are none", `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":[1]}` + "\n",
			`"params of tools/call: \"[1]\" is not an object"`,
			[]string{`the agent asked the MCP server "shop" for tools/call: params`},
		},
		{"answers to nothing", `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", "", nil},
		{
			"cancels nothing",
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}` + "\n", "",
			nil,
		},
		{"another version", initialize, `"recorded"`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := &mcpproxy.Replay{Calls: []trajectory.MCPCall{{
				Server: "shop", Method: "initialize",
				Params: map[string]any{"protocolVersion": "1"}, Result: "recorded",
			}}}
			s := replayScene(t, r, nil, server("shop", "shop"))
			conn, err := net.Dial("unix", s.socket(0))
			require.NoError(t, err)
			_, err = io.WriteString(conn, tt.lines)
			require.NoError(t, err)
			require.NoError(t, conn.(*net.UnixConn).CloseWrite())
			got, err := io.ReadAll(conn)
			require.NoError(t, err)
			if tt.answer == "" {
				assert.Empty(t, string(got))
			}
			assert.Contains(t, string(got), tt.answer)
			_, errs := s.seen()
			require.Len(t, errs, len(tt.errs))
			for i, want := range tt.errs {
				assert.ErrorContains(t, errs[i], want)
			}
		})
	}
}

func TestTooManyConnections(t *testing.T) {
	s := replayScene(t, &mcpproxy.Replay{}, nil, server("shop", "shop"))
	for range 40 { // one after the other are not too many
		conn, err := net.Dial("unix", s.socket(0))
		require.NoError(t, err)
		require.NoError(t, conn.(*net.UnixConn).CloseWrite())
		_, err = io.ReadAll(conn)
		require.NoError(t, err)
		require.NoError(t, conn.Close())
	}
	_, errs := s.seen()
	require.Empty(t, errs)
	var last net.Conn
	for range 17 {
		conn, err := net.Dial("unix", s.socket(0))
		require.NoError(t, err)
		defer conn.Close()
		last = conn
	}
	require.Eventually(t, func() bool { _, errs := s.seen(); return len(errs) > 0 }, waitTime, time.Millisecond)
	_, errs = s.seen()
	assert.EqualError(t, errs[0], `the agent started the MCP server "shop" more than 16 times at once`)
	require.NoError(t, last.SetReadDeadline(time.Now().Add(waitTime)))
	_, err := last.Read(make([]byte, 1))
	require.ErrorIs(t, err, io.EOF, "the agent is told")
}

func TestTooManyRequests(t *testing.T) {
	s := newScene(t, nil, server("shop", "silent"))
	conn, err := net.Dial("unix", s.socket(0))
	require.NoError(t, err)
	defer conn.Close()
	var lines strings.Builder
	const same = `{"jsonrpc":"2.0","id":"same","method":"tools/list"}` + "\n"
	lines.WriteString(same + `{"jsonrpc":"2.0","method":"any","params":{"requestId":"same"}}` + "\n" + same)
	for id := range 256 {
		lines.WriteString(`{"jsonrpc":"2.0","id":` + string(rune('0'+id/100)) + string(rune('0'+id/10%10)) +
			string(rune('0'+id%10)) + `,"method":"tools/list"}` + "\n")
	}
	_, err = io.WriteString(conn, strings.NewReplacer(`"id":00`, `"id":`, `"id":0`, `"id":`).Replace(lines.String()))
	require.NoError(t, err)
	answers := bufio.NewScanner(conn)
	for i, want := range []string{
		"the request same has not been answered yet",
		"256 requests have not been answered yet",
	} {
		require.True(t, answers.Scan())
		assert.Contains(t, answers.Text(), want)
		_, errs := s.seen()
		assert.EqualError(t, errs[i], `the agent asked the MCP server "shop" for tools/list: `+want,
			"no recording would show it")
	}
}

func TestRelay(t *testing.T) {
	t.Run("harness ends", func(t *testing.T) {
		s := newScene(t, nil, server("shop", "shop"))
		a := s.connect(0, "")
		require.NoError(t, s.proxy.Close())
		ended := make(chan error)
		go func() { ended <- a.Wait() }()
		select {
		case <-ended:
		case <-time.After(waitTime):
			t.Error("the relay is alive")
		}
	})
	t.Run("long path", func(t *testing.T) {
		s := newScene(t, func(c *mcpproxy.Config) {
			c.Dir = filepath.Join(c.Dir, strings.Repeat("long/", 40))
		}, server("shop", "shop"))
		assert.Contains(t, s.connect(0, "").call("count", nil), `"1"`)
	})
	t.Run("no harness", func(t *testing.T) {
		s := newScene(t, nil, server("shop", "shop"))
		require.NoError(t, s.proxy.Close())
		_, err := s.tryConnect(0, "")
		assert.Error(t, err)
	})
}

func TestListenFails(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := mcpproxy.Listen(mcpproxy.Config{Dir: file})
	require.ErrorContains(t, err, "make the directory for sockets of MCP servers")
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "1.sock"), nil, 0o600))
	_, err = mcpproxy.Listen(mcpproxy.Config{
		Dir:     dir,
		Servers: []plan.MCPServer{server("a", "shop"), server("b", "shop")}, Replay: &mcpproxy.Replay{},
	})
	require.ErrorContains(t, err, `proxy the MCP server "b": `)
}

package mcpproxy_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// scene is a proxy, and what it told.
type scene struct {
	t     *testing.T
	proxy *mcpproxy.Proxy
	dir   string // for the agent's and the server's files

	mu        sync.Mutex
	calls     []trajectory.MCPCall
	errs      []error
	processes []*supervise.Process
}

// server is the test binary as a server.
func server(name, kind string) plan.MCPServer {
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return plan.MCPServer{MCPServer: playbook.MCPServer{Name: name, Command: []string{self, serverWord, kind}}}
}

// newScene makes a proxy for servers; change may change how. At the end nothing of it is alive.
func newScene(t *testing.T, change func(*mcpproxy.Config), servers ...plan.MCPServer) *scene {
	t.Helper()
	dir := t.TempDir()
	s := &scene{t: t, dir: dir}
	c := mcpproxy.Config{
		Dir: filepath.Join(dir, "mcp"), Servers: servers,
		Start: func(ctx context.Context, c supervise.Command) (*supervise.Process, error) {
			c.Env, c.Dir, c.Grace = []string{"PATH=" + os.Getenv("PATH")}, dir, 100*time.Millisecond
			p, err := supervise.Start(ctx, c)
			if err == nil {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.processes = append(s.processes, p)
			}
			return p, err
		},
		OnCall: func(c trajectory.MCPCall) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.calls = append(s.calls, c)
		},
		OnError: func(err error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.errs = append(s.errs, err)
		},
	}
	if change != nil {
		change(&c)
	}
	var err error
	s.proxy, err = mcpproxy.Listen(c)
	require.NoError(t, err)
	t.Cleanup(func() {
		assert.NoError(t, s.proxy.Close())
		for _, p := range s.processes {
			select {
			case <-p.Done():
			default:
				t.Errorf("process %d is alive", p.PID())
			}
		}
	})
	return s
}

// agent is an MCP client that started a server as it was told to.
type agent struct {
	t *testing.T
	*mcp.ClientSession
	changed  chan string // lists that are said to have changed
	progress chan string
}

// relay returns the command that the proxy tells agents to start as its nth server.
func (s *scene) relay(n int) acp.McpServerStdio {
	s.t.Helper()
	servers, err := s.proxy.Servers()
	require.NoError(s.t, err)
	return servers[n].(acp.McpServerStdio)
}

// socket returns where the nth server can be reached.
func (s *scene) socket(n int) string {
	args := s.relay(n).Args
	return args[len(args)-1]
}

// connect starts the nth server as agents do. The version of the protocol may be empty.
func (s *scene) connect(n int, version string) *agent {
	s.t.Helper()
	a, err := s.tryConnect(n, version)
	require.NoError(s.t, err)
	return a
}

func (s *scene) tryConnect(n int, version string) (*agent, error) {
	s.t.Helper()
	a := &agent{t: s.t, changed: make(chan string, 10), progress: make(chan string, 10)}
	relay := s.relay(n)
	cmd := exec.Command(relay.Command, relay.Args...)
	cmd.Dir, cmd.Stderr = s.dir, os.Stderr
	ctx, cancel := context.WithTimeout(s.t.Context(), waitTime)
	defer cancel()
	var err error
	a.ClientSession, err = a.client().Connect(ctx, &mcp.CommandTransport{Command: cmd},
		&mcp.ClientSessionOptions{ProtocolVersion: version})
	if err == nil {
		s.t.Cleanup(func() { _ = a.Close() })
	}
	return a, err
}

func (a *agent) client() *mcp.Client {
	return mcp.NewClient(&mcp.Implementation{Name: "agent", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			panic("the agent was asked for something")
		},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) { a.changed <- "tools" },
		ProgressNotificationHandler: func(_ context.Context,
			r *mcp.ProgressNotificationClientRequest,
		) {
			a.progress <- r.Params.Message
		},
	})
}

// call calls a tool and returns what it answered as JSON, or the error.
func (a *agent) call(tool string, args map[string]any) string {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), waitTime)
	defer cancel()
	p := &mcp.CallToolParams{Name: tool, Arguments: args}
	p.SetProgressToken("token")
	r, err := a.CallTool(ctx, p)
	if err != nil {
		return "error: " + err.Error()
	}
	return text(a.t, r)
}

func text(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	require.NoError(t, err)
	return string(data)
}

// seen returns what the proxy has told so far.
func (s *scene) seen() ([]trajectory.MCPCall, []error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.calls), slices.Clone(s.errs)
}

// methods are the requests that the proxy told, in short.
func methods(calls []trajectory.MCPCall) []string {
	var all []string
	for _, c := range calls {
		all = append(all, strings.TrimSpace(c.Method+" "+c.Tool))
	}
	return all
}

// recorded takes calls through a cassette's encoding.
func recorded(t *testing.T, calls []trajectory.MCPCall) []trajectory.Event {
	t.Helper()
	var all []trajectory.Event
	for _, c := range calls {
		data, err := json.Marshal(trajectory.Event{Turn: 1, Body: c})
		require.NoError(t, err)
		var e trajectory.Event
		require.NoError(t, json.Unmarshal(data, &e))
		all = append(all, e)
	}
	return all
}

// replayOf returns a replay of recorded calls.
func replayOf(t *testing.T, calls []trajectory.MCPCall) *mcpproxy.Replay {
	t.Helper()
	return mcpproxy.Recorded([]cassette.Turn{{Events: recorded(t, calls)}})
}

// replayScene is a scene in which a recording answers, and nothing can be started.
func replayScene(t *testing.T, r *mcpproxy.Replay, change func(*mcpproxy.Config), servers ...plan.MCPServer) *scene {
	t.Helper()
	return newScene(t, func(c *mcpproxy.Config) {
		c.Replay, c.Start = r, nil
		if change != nil {
			change(c)
		}
	}, servers...)
}

// Package mcpagent is for tests: an agent that calls the MCP servers it is given, and a server for it to call. The
// scripted agent does not speak MCP, and real agents need a model.
//
// The agent calls a tool for each line of a prompt that has the form
//
//	SERVER TOOL {"argument": "value"}
//
// one after the other, and ignores the other lines. Its message has the answers. With the argument -tell it tells of
// the calls, too.
package mcpagent

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// frame is a message of the Agent Client Protocol.
type frame struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  any             `json:"result,omitempty"`
	Error   any             `json:"error,omitempty"`
}

// agent is one session.
type agent struct {
	servers map[string]*mcp.ClientSession
	cancel  context.CancelFunc // of the turn
	tells   bool               // of its calls
	calls   int

	mu  sync.Mutex
	out *json.Encoder
}

// Main runs the agent until in ends and returns its exit code.
func Main(in io.Reader, out io.Writer) int {
	a := &agent{
		servers: make(map[string]*mcp.ClientSession), cancel: func() {}, out: json.NewEncoder(out),
		tells: slices.Contains(os.Args, "-tell"),
	}
	var turns sync.WaitGroup
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f frame
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return 1
		}
		switch f.Method {
		case "initialize":
			info := map[string]any{"name": "mcp-agent", "version": "1"}
			a.answer(f, map[string]any{"protocolVersion": 1, "agentInfo": info}, nil)
		case "session/new":
			a.answer(f, map[string]any{"sessionId": "s1"}, a.start(f.Params))
		case "session/prompt":
			ctx, cancel := context.WithCancel(context.Background())
			a.cancel = cancel
			turns.Go(func() { a.answer(f, map[string]any{"stopReason": a.turn(ctx, f.Params)}, nil) })
		case "session/cancel":
			a.cancel()
		}
	}
	a.cancel()
	turns.Wait()
	for _, s := range a.servers {
		_ = s.Close()
	}
	return 0
}

func (a *agent) send(f frame) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f.Version = "2.0"
	_ = a.out.Encode(f) // a client that has gone is noticed when reading
}

func (a *agent) answer(f frame, result any, err error) {
	if err != nil {
		a.send(frame{ID: f.ID, Error: map[string]any{"code": -32603, "message": err.Error()}})
		return
	}
	a.send(frame{ID: f.ID, Result: result})
}

// start starts the servers of a new session.
func (a *agent) start(params json.RawMessage) error {
	var p struct {
		McpServers []struct {
			Name, Command string
			Args          []string
		}
	}
	if err := json.Unmarshal(params, &p); err != nil {
		return err
	}
	for _, s := range p.McpServers {
		client := mcp.NewClient(&mcp.Implementation{Name: "mcp-agent", Version: "1"}, nil)
		transport := &mcp.CommandTransport{Command: exec.Command(s.Command, s.Args...)}
		session, err := client.Connect(context.Background(), transport,
			&mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
		if err != nil {
			continue // as real agents do
		}
		a.servers[s.Name] = session
	}
	return nil
}

// turn calls the tools that a prompt names, and returns why it stops.
func (a *agent) turn(ctx context.Context, params json.RawMessage) string {
	var p struct{ Prompt []struct{ Text string } }
	if err := json.Unmarshal(params, &p); err != nil {
		return "refusal"
	}
	var answers strings.Builder // in one message: messages between calls could arrive before or after them
	for _, block := range p.Prompt {
		for line := range strings.Lines(block.Text) {
			answers.WriteString(a.call(ctx, strings.SplitN(strings.TrimSpace(line), " ", 3)))
		}
	}
	update, _ := json.Marshal(map[string]any{"sessionId": "s1", "update": map[string]any{
		"sessionUpdate": "agent_message_chunk", "content": map[string]any{"type": "text", "text": answers.String()},
	}})
	a.send(frame{Method: "session/update", Params: update})
	if ctx.Err() != nil {
		return "cancelled"
	}
	return "end_turn"
}

// call calls the tool that the words of a line name and returns its answer, "" if they name none.
func (a *agent) call(ctx context.Context, words []string) string {
	var args map[string]any
	a.calls++
	if len(words) < 3 || a.servers[words[0]] == nil || json.Unmarshal([]byte(words[2]), &args) != nil {
		return ""
	}
	r, err := a.servers[words[0]].CallTool(ctx, &mcp.CallToolParams{Name: words[1], Arguments: args})
	if err != nil {
		return fmt.Sprintln(err)
	}
	content, _ := json.Marshal(r.Content)
	if a.tells {
		update, _ := json.Marshal(map[string]any{"sessionId": "s1", "update": map[string]any{
			"sessionUpdate": "tool_call", "toolCallId": fmt.Sprint("c", a.calls), "kind": "other", "rawInput": args,
			"title":  "mcp__" + words[0] + "__" + words[1],
			"status": map[bool]string{false: "completed", true: "failed"}[r.IsError],
		}})
		a.send(frame{Method: "session/update", Params: update})
	}
	return string(content) + "\n"
}

// Serve runs the server on its standard streams until its input ends, and returns its exit code. The answer of the tool
// "count" has the number of its calls; "hang" never answers.
func Serve() int {
	s := mcp.NewServer(&mcp.Implementation{Name: "stock", Version: "1"}, nil)
	type goods struct {
		SKU string `json:"sku"`
	}
	var calls atomic.Int64
	mcp.AddTool(s, &mcp.Tool{Name: "count"},
		func(_ context.Context, _ *mcp.CallToolRequest, of goods) (*mcp.CallToolResult, any, error) {
			text := fmt.Sprintf("%s %d", of.SKU, calls.Add(1))
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}}, nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "hang"},
		func(ctx context.Context, _ *mcp.CallToolRequest, _ goods) (*mcp.CallToolResult, any, error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		})
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		return 1
	}
	return 0
}

// Silent runs a server that never answers.
func Silent(in io.Reader) int {
	_, _ = io.Copy(io.Discard, in)
	return 0
}

// programs are the programs that a test binary can be, by the name under which it is started.
var programs = map[string]func() int{
	"mcp-agent":  func() int { return Main(os.Stdin, os.Stdout) },
	"mcp-stock":  Serve,
	"mcp-silent": func() int { return Silent(os.Stdin) },
}

// init makes a test binary one of the programs if it was started as that. It ends by the bare system call, as its exit
// is no test's.
func init() {
	if program, ok := programs[filepath.Base(os.Args[0])]; ok {
		syscall.Exit(program())
	}
}

// Install makes the programs mcp-agent, mcp-stock and mcp-silent in a directory: links to the test binary, which has to
// import this package.
func Install(dir string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	for name := range programs {
		if err := os.Symlink(self, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

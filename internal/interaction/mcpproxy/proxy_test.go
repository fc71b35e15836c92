package mcpproxy_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy"
	"github.com/sdd-eval/sdd-eval/internal/observe"
)

// visit does everything that an agent can do with the shop, and returns all that it saw.
func visit(a *agent) []string {
	ctx, cancel := context.WithTimeout(a.t.Context(), waitTime)
	defer cancel()
	var saw []string
	see := func(v any, err error) {
		if err != nil {
			saw = append(saw, "error: "+err.Error())
			return
		}
		saw = append(saw, text(a.t, v))
	}
	see(a.InitializeResult(), nil)
	for t, err := range a.Tools(ctx, nil) {
		see(t, err)
	}
	see(a.ListResources(ctx, nil))
	see(a.ListResourceTemplates(ctx, nil))
	see(a.ListPrompts(ctx, nil))
	see(a.ReadResource(ctx, &mcp.ReadResourceParams{URI: "shop://tea"}))
	see(a.ReadResource(ctx, &mcp.ReadResourceParams{URI: "shop://none"}))
	see(a.GetPrompt(ctx, &mcp.GetPromptParams{Name: "greet"}))
	see(a.Complete(ctx, &mcp.CompleteParams{
		Ref:      &mcp.CompleteReference{Type: "ref/prompt", Name: "greet"},
		Argument: mcp.CompleteParamsArgument{Name: "who", Value: "a"},
	}))
	return append(saw, a.call("count", nil), a.call("fail", nil), a.call("count", nil), a.call("nothing", nil),
		a.call("offers", nil), a.call("progress", nil))
}

// versions of the protocol: with a handshake, and without.
var versions = []string{"2025-06-18", ""}

func TestRecordAndReplay(t *testing.T) {
	for _, version := range versions {
		t.Run("version "+version, func(t *testing.T) {
			live := newScene(t, nil, server("shop", "shop"))
			a := live.connect(0, version)
			want := visit(a)
			select {
			case message := <-a.progress:
				assert.Equal(t, "half", message)
			case <-time.After(waitTime):
				t.Errorf("no progress was told: %q", want)
			}
			require.NoError(t, a.Close())
			calls, errs := live.seen()
			require.Empty(t, errs)
			all := strings.Join(want, "\n")
			for _, part := range []string{
				`"Sell tea."`, `"1.2.3"`, `shop://tea`, `"text":"1"`, `"text":"2"`, `out of \u003ctea`,
				`unknown tool "nothing"`, `"ax"`, `"text":"no"`,
			} {
				assert.Contains(t, all, part)
			}

			r := replayOf(t, calls)
			replay := replayScene(t, r, nil, server("shop", "shop"))
			again := replay.connect(0, version)
			assert.Equal(t, want, visit(again))
			require.NoError(t, again.Close())
			replayed, errs := replay.seen()
			assert.Empty(t, errs)
			assert.Equal(t, recorded(t, calls), recorded(t, replayed), "what the agent saw is told alike")
			assert.Empty(t, r.Recording.Unused(nil))
			assert.Empty(t, r.Recording.Reordered())
			for _, c := range calls {
				if c.Method == "resources/read" {
					assert.Equal(t, []string{"uri"}, slices.Collect(maps.Keys(c.Params.(map[string]any))),
						"what is the protocol's is not recorded")
				}
			}
		})
	}
}

func TestDescriptionsAreToldOnce(t *testing.T) {
	s := newScene(t, nil, server("shop", "shop"))
	for range 2 {
		a := s.connect(0, "2025-06-18")
		for range 2 {
			_, err := a.ListTools(t.Context(), nil)
			require.NoError(t, err)
		}
		require.NoError(t, a.Ping(t.Context(), nil))
		a.call("count", nil)
	}
	calls, _ := s.seen()
	require.Equal(t, []string{"initialize", "tools/list", "tools/call count", "tools/call count"}, methods(calls))

	t.Run("and answered again", func(t *testing.T) {
		replay := replayScene(t, replayOf(t, calls), nil, server("shop", "shop"))
		a := replay.connect(0, "2025-06-18")
		for range 3 {
			_, err := a.ListTools(t.Context(), nil)
			require.NoError(t, err)
		}
		require.NoError(t, a.Ping(t.Context(), nil))
		_, errs := replay.seen()
		assert.Empty(t, errs)
	})
}

func TestChangedList(t *testing.T) {
	shopping := func(a *agent) (tools []string) {
		list := func() {
			n := 0
			for _, err := range a.Tools(t.Context(), nil) {
				require.NoError(t, err)
				n++
			}
			tools = append(tools, string(rune('0'+n)))
		}
		list()
		list()
		a.call("grow", nil)
		select {
		case <-a.changed:
		case <-time.After(waitTime):
			t.Error("the agent was not told that the list has changed")
		}
		list()
		return append(tools, a.call("grown", nil))
	}
	for _, version := range versions {
		t.Run("version "+version, func(t *testing.T) {
			var o observe.Observer // which moves what servers say of themselves
			s := newScene(t, func(c *mcpproxy.Config) {
				c.OnCall = func(c trajectory.MCPCall) { o.MCP(time.Now(), c) }
			}, server("shop", "shop"))
			want := shopping(s.connect(0, version))
			require.NotEqual(t, want[1], want[2])
			replay := replayScene(t, mcpproxy.Recorded([]cassette.Turn{{Events: o.Turn()}}), nil,
				server("shop", "shop"))
			assert.Equal(t, want, shopping(replay.connect(0, version)), "each list comes at its time")
			_, errs := replay.seen()
			assert.Empty(t, errs)
		})
	}
}

func TestDivergence(t *testing.T) {
	s := newScene(t, nil, server("shop", "shop"))
	a := s.connect(0, "2025-06-18")
	a.call("count", map[string]any{"of": "tea"})
	calls, _ := s.seen()
	replay := replayScene(t, replayOf(t, calls), nil, server("shop", "shop"))
	again := replay.connect(0, "2025-06-18")
	for _, tt := range []struct {
		name, of string
		want     []string
	}{
		{"never recorded", "rice", []string{`recorded "tea"`, `asked "rice"`}},
		{"recorded", "tea", []string{`"text":"1"`}},
		{"too often", "tea", []string{"recorded once"}},
	} {
		got := again.call("count", map[string]any{"of": tt.of})
		for _, part := range tt.want {
			assert.Contains(t, strings.ReplaceAll(got, `\"`, `"`), part, tt.name)
		}
	}
	_, err := again.ListPrompts(t.Context(), nil)
	assert.ErrorContains(t, err, "mcp__shop__prompts/list", "what a server said of itself has to be recorded, too")
	told, errs := replay.seen()
	require.Len(t, errs, 3)
	for _, err := range errs {
		_, ok := errors.AsType[*interaction.DivergenceError](err)
		assert.True(t, ok, "%v", err)
	}
	assert.NotNil(t, told[1].Error, "the agent's view of it")
}

func TestNoArguments(t *testing.T) {
	s := newScene(t, nil, server("shop", "shop"))
	a := s.connect(0, "2025-06-18")
	_, err := a.CallTool(t.Context(), &mcp.CallToolParams{Name: "count", Arguments: json.RawMessage("null")})
	require.NoError(t, err)
	calls, _ := s.seen()
	replay := replayScene(t, replayOf(t, calls), nil, server("shop", "shop"))
	assert.Contains(t, replay.connect(0, "2025-06-18").call("count", map[string]any{}), `"1"`,
		"none are the same as an empty object")
}

func TestSeveralServers(t *testing.T) {
	s := newScene(t, nil, server("one", "shop"), server("two", "shop"))
	one, two := s.connect(0, ""), s.connect(1, "")
	assert.Contains(t, one.call("count", nil), `"1"`)
	assert.Contains(t, two.call("count", nil), `"1"`)
	assert.Contains(t, one.call("count", nil), `"2"`)
	calls, _ := s.seen()
	replay := replayScene(t, replayOf(t, calls), nil, server("one", "shop"), server("two", "shop"))
	two, one = replay.connect(1, ""), replay.connect(0, "")
	assert.Contains(t, two.call("count", nil), `"1"`)
	assert.Contains(t, one.call("count", nil), `"1"`)
	assert.Contains(t, one.call("count", nil), `"2"`)
	assert.Contains(t, two.call("count", nil), "recorded once")
}

// mapped returns decoded JSON with another text in place of one.
func mapped(v any, from, to string) any {
	switch v := v.(type) {
	case string:
		return strings.ReplaceAll(v, from, to)
	case map[string]any:
		m := make(map[string]any)
		for k, e := range v {
			m[k] = mapped(e, from, to)
		}
		return m
	case []any:
		l := []any{}
		for _, e := range v {
			l = append(l, mapped(e, from, to))
		}
		return l
	}
	return v
}

// TestPaths holds that texts of this session become those of all sessions, and come back as those of the next.
func TestPaths(t *testing.T) {
	s := newScene(t, nil, server("shop", "shop"))
	file := filepath.Join(s.dir, "a.txt")
	require.NoError(t, os.WriteFile(file, []byte("hello"), 0o600))
	a := s.connect(0, "")
	want := a.call("read", map[string]any{"path": file})
	require.Contains(t, want, file+": hello")
	calls, _ := s.seen()
	for i := range calls {
		calls[i].Params, calls[i].Result = mapped(calls[i].Params, s.dir, "$WORKSPACE"), mapped(calls[i].Result, s.dir,
			"$WORKSPACE")
	}

	var dir string
	replay := replayScene(t, replayOf(t, calls), func(c *mcpproxy.Config) {
		dir = filepath.Dir(c.Dir)
		c.Normalise = func(v any) any { return mapped(v, dir, "$WORKSPACE") }
		c.Denormalise = func(v any) any { return mapped(v, "$WORKSPACE", dir) }
		c.Overrides = interaction.NewOverrides(
			[]interaction.Override{{Tool: "mcp__shop__count", Output: "$WORKSPACE/b.txt"}})
	}, server("shop", "shop"))
	again := replay.connect(0, "")
	assert.Contains(t, again.call("count", nil), filepath.Join(dir, "b.txt"), "as overrides say it")
	got := again.call("read", map[string]any{"path": filepath.Join(dir, "a.txt")})
	assert.Equal(t, strings.ReplaceAll(want, s.dir, dir), got)
	told, errs := replay.seen()
	assert.Empty(t, errs)
	assert.Equal(t, map[string]any{"path": filepath.Join(dir, "a.txt")}, told[len(told)-1].Params,
		"told as the agent asked")
}

// TestOverrides holds that overrides answer while servers are recorded, and in a replay of that.
func TestOverrides(t *testing.T) {
	override := func(c *mcpproxy.Config) {
		c.Overrides = interaction.NewOverrides([]interaction.Override{
			{Tool: "mcp__shop__count", Nth: 2, Error: "no power"},
			{Tool: "mcp__shop__count", Nth: 3, Output: "many"},
			{Tool: "mcp__shop__count", Nth: 4, Output: map[string]any{"n": 4}},
			{
				Tool: "mcp__shop__count", Nth: 5,
				Output: map[string]any{"content": []any{map[string]any{"type": "text", "text": "as it is"}}},
			},
			{Tool: "mcp__shop__count", Nth: 6, Output: []any{1, "<b>"}},
			{Tool: "mcp__shop__resources/read", Error: "gone"},
			{
				Tool:   "mcp__shop__prompts/list",
				Output: map[string]any{"prompts": []any{map[string]any{"name": "other"}}},
			},
		})
	}
	visit := func(s *scene) []trajectory.MCPCall {
		a := s.connect(0, "2025-06-18")
		for _, want := range []string{
			`{"content":[{"type":"text","text":"1"}]}`,
			`{"content":[{"type":"text","text":"no power"}],"isError":true}`,
			`{"content":[{"type":"text","text":"many"}]}`,
			`{"content":[{"type":"text","text":"{\"n\":4}"}],"structuredContent":{"n":4}}`,
			`{"content":[{"type":"text","text":"as it is"}]}`,
			`{"content":[{"type":"text","text":"[1,\"\u003cb\u003e\"]"}]}`,
			`{"content":[{"type":"text","text":"2"}]}`,
		} {
			assert.Equal(t, want, a.call("count", nil))
		}
		_, err := a.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "shop://tea"})
		assert.ErrorContains(t, err, "gone")
		prompts, err := a.ListPrompts(t.Context(), nil)
		require.NoError(t, err)
		assert.Equal(t, "other", prompts.Prompts[0].Name)
		calls, errs := s.seen()
		assert.Empty(t, errs)
		return calls
	}
	calls := visit(newScene(t, override, server("shop", "shop")))
	assert.Len(t, calls, 10, "they are told as the agent saw them")

	r := replayOf(t, calls)
	again := visit(replayScene(t, r, override, server("shop", "shop")))
	assert.Equal(t, recorded(t, calls), recorded(t, again))
	assert.Empty(t, r.Recording.Unused(nil), "an overridden call uses its recording up")
	assert.Empty(t, r.Recording.Reordered())
}

// TestRequestsOfServers holds that a server gets answers to what it asks, but not from the agent.
func TestRequestsOfServers(t *testing.T) {
	s := newScene(t, nil, server("asker", "asker"))
	conn, err := net.Dial("unix", s.socket(0))
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"ask","_meta":{"a":1}}}`+"\n")
	require.NoError(t, err)
	answer, err := bufio.NewReader(conn).ReadString('\n')
	require.NoError(t, err)
	assert.JSONEq(t, `{"jsonrpc":"2.0","id":1,"result":[
		{"jsonrpc":"2.0","id":1,"result":{}},
		{"jsonrpc":"2.0","id":"a","error":{"code":-32601,"message":
			"sdd-eval stands between this server and the agent, and does not pass on roots/list"}}
	]}`, answer)
	_, errs := s.seen()
	assert.Empty(t, errs)
}

func TestCancelled(t *testing.T) {
	s := newScene(t, nil, server("shop", "shop"))
	a := s.connect(0, "2025-06-18")
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := a.CallTool(ctx, &mcp.CallToolParams{Name: "hang"})
		answered <- err
	}()
	require.Eventually(t, func() bool { return s.proxy.Waiting() != nil }, waitTime, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-answered, context.Canceled)
	assert.Contains(t, a.call("count", nil), `"1"`)
	require.Eventually(t, func() bool { calls, _ := s.seen(); return len(calls) == 3 }, waitTime, time.Millisecond)
	calls, errs := s.seen()
	assert.Empty(t, errs)
	for _, c := range calls {
		if c.Tool == "hang" {
			assert.Equal(t, &trajectory.MCPError{Code: -32800, Message: "the agent cancelled the request"}, c.Error)
			return
		}
	}
	t.Error("the cancelled call was not told")
}

package mcpproxy_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// confined returns a sandbox of a kind.
func confined(t *testing.T, kind confine.Kind) *confine.Sandbox {
	t.Helper()
	if _, err := exec.LookPath("bwrap"); kind == confine.Bwrap && err != nil && os.Getenv("CI") == "" {
		t.Skip("install bubblewrap to test it:", err)
	}
	s, err := confine.New(kind, nil)
	require.NoError(t, err)
	_, err = s.Properties(t.Context())
	require.NoError(t, err)
	return s
}

// start starts a command in a sandbox without a network, for which dir is all that there is.
func start(ctx context.Context, box *confine.Sandbox, dir string, c supervise.Command) (*supervise.Process, error) {
	c.Dir, c.Grace = dir, 2*time.Second
	c.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}
	return box.Start(ctx, c,
		confine.Policy{Write: []string{dir}, Connect: []string{filepath.Join(dir, "mcp")}, Programs: c.Args})
}

// connectConfined starts the first server as an agent in a sandbox does.
func (s *scene) connectConfined(box *confine.Sandbox) *agent {
	s.t.Helper()
	relay := s.relay(0)
	p, err := start(s.t.Context(), box, s.dir, supervise.Command{
		Path: relay.Command, Args: append([]string{relay.Command}, relay.Args...), PipeStdin: true, PipeStdout: true,
		Stderr: s.t.Output(),
	})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _, _ = p.Stop(context.Background()) })
	a := &agent{t: s.t, changed: make(chan string, 10), progress: make(chan string, 10)}
	a.ClientSession,
		err = a.client().Connect(s.t.Context(), &mcp.IOTransport{Reader: io.NopCloser(p.Stdout), Writer: p.Stdin},
		&mcp.ClientSessionOptions{ProtocolVersion: "2025-06-18"})
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = a.Close() })
	return a
}

func TestConfined(t *testing.T) {
	for _, kind := range []confine.Kind{confine.Bwrap, confine.Landlock} {
		t.Run(string(kind), func(t *testing.T) {
			box := confined(t, kind)
			s := newScene(t, nil, server("shop", "shop"))
			a := s.connectConfined(box)
			assert.Contains(t, a.call("count", nil), `"1"`)
		})
	}
}

// real returns a server that npm has installed.
func real(t *testing.T, name string, args ...string) plan.MCPServer {
	t.Helper()
	path, err := filepath.Abs(filepath.FromSlash("../../../fixtures/mcp/node_modules/.bin/mcp-server-" + name))
	require.NoError(t, err)
	if _, err := os.Stat(path); err != nil && os.Getenv("CI") == "" {
		t.Skip("`make mcp` installs it:", err)
	}
	return plan.MCPServer{MCPServer: playbook.MCPServer{Name: name, Command: append([]string{path}, args...)}}
}

// TestRealServers records servers that others wrote, confined as agents are, and replays them without.
func TestRealServers(t *testing.T) {
	box := confined(t, confine.Auto)
	tests := []struct {
		name  string
		args  []string
		visit func(t *testing.T, a *agent, dir string) []string
		want  []string
	}{
		{"filesystem", []string{"."}, func(t *testing.T, a *agent, dir string) []string {
			file := filepath.Join(dir, "notes.txt")
			return []string{
				a.call("write_file", map[string]any{"path": file, "content": "one\n"}),
				a.call("read_text_file", map[string]any{"path": file}),
				a.call("edit_file",
					map[string]any{"path": file, "edits": []any{map[string]any{"oldText": "one", "newText": "two"}}}),
				a.call("read_text_file", map[string]any{"path": file}),
				a.call("read_text_file", map[string]any{"path": "/etc/passwd"}),
			}
		}, []string{`"text":"one\n"`, `"text":"two\n"`, "+two", "Access denied"}},
		{"everything", []string{"stdio"}, func(t *testing.T, a *agent, _ string) []string {
			ctx, cancel := context.WithTimeout(t.Context(), waitTime)
			defer cancel()
			resources, err := a.ListResources(ctx, nil)
			require.NoError(t, err)
			prompts, err := a.ListPrompts(ctx, nil)
			require.NoError(t, err)
			prompt, err := a.GetPrompt(ctx, &mcp.GetPromptParams{Name: "simple-prompt"})
			require.NoError(t, err)
			return []string{
				text(t, resources), text(t, prompts), text(t, prompt),
				a.call("echo", map[string]any{"message": "<hi> & 日本"}),
				a.call("get-sum", map[string]any{"a": 1.5, "b": 2}), a.call("get-tiny-image", map[string]any{}),
				a.call("get-sum", map[string]any{"a": "x"}),
				a.call("trigger-long-running-operation", map[string]any{"duration": 0.02, "steps": 2}),
			}
		}, []string{`Echo: \u003chi\u003e \u0026 日本`, "is 3.5", "image/png", "Long running operation completed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var dir string
			in := func(c *mcpproxy.Config) {
				dir = filepath.Dir(c.Dir)
				c.Start = func(ctx context.Context, c supervise.Command) (*supervise.Process, error) {
					return start(ctx, box, dir, c)
				}
			}
			srv := real(t, tt.name, tt.args...)
			all := func(a *agent) []string {
				saw := []string{text(t, a.InitializeResult())}
				for tool, err := range a.Tools(t.Context(), nil) {
					require.NoError(t, err)
					saw = append(saw, text(t, tool))
				}
				return append(saw, tt.visit(t, a, dir)...)
			}
			live := newScene(t, in, srv)
			want := all(live.connectConfined(box))
			calls, errs := live.seen()
			require.Empty(t, errs)
			for _, part := range tt.want {
				assert.Contains(t, strings.Join(want, "\n"), part)
			}

			recorded := dir
			recording := replayOf(t, calls)
			replay := replayScene(t, recording, func(c *mcpproxy.Config) {
				dir = filepath.Dir(c.Dir)
				c.Normalise = func(v any) any { return mapped(v, dir, recorded) }
				c.Denormalise = func(v any) any { return mapped(v, recorded, dir) }
			}, srv)
			got := all(replay.connectConfined(box))
			for i := range want {
				assert.Equal(t, strings.ReplaceAll(want[i], recorded, dir), got[i])
			}
			assert.Empty(t, recording.Recording.Unused(nil))
			_, errs = replay.seen()
			assert.Empty(t, errs)
			_, err := os.Stat(filepath.Join(dir, "notes.txt"))
			assert.ErrorIs(t, err, os.ErrNotExist, "no server has run")
		})
	}
}

package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// everything returns a session with an event of each kind, and with long and hostile texts.
func everything() *cassette.Cassette {
	line, exit, tokens := 12, 1, int64(1200)
	old := "package add\n\nfunc Add(a, b int) int { return a - b }\n"
	long := strings.Repeat("All work and no play makes an agent dull. ", 12)
	var events []trajectory.Event
	for i, body := range []trajectory.Body{
		trajectory.Prompt{Text: "Fix Add in add.go.\n" + long},
		trajectory.Thought{Text: "Let me look."},
		trajectory.Plan{Entries: []trajectory.PlanEntry{
			{Content: "look", Status: "completed"},
			{Content: "fix", Status: "in_progress"},
			{Content: "test", Status: "pending"},
		}},
		trajectory.ToolStart{
			ID: "c1", Name: "Read", Kind: "read", Title: "Read add.go",
			Args: map[string]any{"path": "add.go", "limit": json.Number("2000")},
		},
		trajectory.FileRead{Path: "add.go", Line: &line, Text: old + strings.Repeat("// more\n", 40)},
		trajectory.ToolEnd{ID: "c1", Status: trajectory.Completed, Output: old + strings.Repeat("// more\n", 40)},
		trajectory.ToolStart{
			ID: "c2", Name: "Edit", Kind: "edit",
			Args: map[string]any{"path": "add.go", "text": strings.Repeat("x\n", 60), "deep": []any{true}},
		},
		trajectory.Permission{
			ID: "c2", Options: []trajectory.PermissionOption{{ID: "allow"}, {ID: "reject"}}, Decision: "allow",
		},
		trajectory.FileWrite{Path: "/etc/passwd", Error: "denied: outside the workspace"},
		trajectory.ToolEnd{
			ID: "c2", Status: trajectory.Completed, Output: map[string]any{"ok": true},
			Diffs: []trajectory.Diff{
				{Path: "add.go", Old: &old, New: strings.Replace(old, "-", "+", 1)},
				{Path: "new.go", New: "package add\n"},
			},
		},
		trajectory.ToolStart{ID: "c3", Parent: "c2", Name: "go test", Kind: "execute", Title: "go test"},
		trajectory.Terminal{
			ID: "t1", Command: "go", Args: []string{"test", "./..."}, Output: "FAIL\tadd\n", ExitCode: &exit,
			Truncated: true,
		},
		trajectory.ToolEnd{
			ID: "c3", Status: trajectory.Failed, ExitCode: &exit, Printed: "FAIL\tadd\n",
			Output: map[string]any{"raw": long},
		},
		trajectory.Terminal{ID: "t2", Command: "sleep", Signal: "SIGKILL"},
		trajectory.Terminal{ID: "t3", Command: "rm", Error: "rm may not be started"},
		trajectory.Message{Text: "\x1b[31mred\x1b[0m and \u202e turned \x00"},
		trajectory.MCPCall{
			Server: "docs", Method: "tools/list",
			Result: map[string]any{"tools": []any{map[string]any{"name": "search"}}},
		},
		trajectory.MCPCall{
			Server: "docs", Method: "tools/call", Tool: "search", Params: map[string]any{"for": "refunds"},
			Result: map[string]any{"content": []any{map[string]any{"type": "text", "text": "See billing."}}},
		},
		trajectory.MCPCall{
			Server: "docs", Method: "resources/read", Params: map[string]any{"uri": "docs://x"},
			Error: &trajectory.MCPError{Code: -32002, Message: "no such page"},
		},
		trajectory.Notice{Name: "session/update:weather", Data: map[string]any{"sun": true}},
		trajectory.State{Mode: "code", Commands: []string{"review"}},
		trajectory.Stop{Reason: "max_tokens", Usage: &trajectory.Usage{Input: &tokens, Total: &tokens}},
	} {
		events = append(events, trajectory.Event{Turn: 1, At: time.Duration(i*i) * 500 * time.Millisecond, Body: body})
	}
	return &cassette.Cassette{
		Header: cassette.Header{
			Level: cassette.LevelRun, Unit: "fix-bug/task/claude/1",
			Agent: trajectory.Agent{
				Kind: "claude-code-acp", Name: "claude-agent-acp", Version: "0.100.0", Model: "opus",
			},
			Endpoint: "scripted", RecordedAt: noon, Sandbox: "bwrap",
			LeftOut: workspace.LeftOut{"node_modules", "web/\u202enode_modules"},
			Fingerprints: cassette.Fingerprints{
				Kind: "claude-code-acp", Permissions: []string{"tool Bash, path any: reject", "default: allow"},
				Timeout: "30m0s", Steps: []string{"make"},
				Workspace: cassette.Files{
					Digest: "8f14e45fceea167a5a36dedd4bea25438f14e45fceea167a5a36dedd4bea2543",
					ByPath: map[string]string{"add.go": "33dd790e841b"},
				},
			},
		},
		Turns: []cassette.Turn{{Events: events, Delta: workspace.Delta{Changes: []workspace.Change{
			{Path: "add.go", Op: workspace.Modified, Kind: workspace.File, Data: make([]byte, 3000)},
			{Path: "bin", Op: workspace.Added, Kind: workspace.Dir, Ignored: true, Digest: "0b5ad3c8"},
			{Path: "empty", Op: workspace.Added, Kind: workspace.Dir},
			{Path: "latest", Op: workspace.Added, Kind: workspace.Symlink, Target: "add.go"},
			{Path: "old.go", Op: workspace.Deleted, Kind: workspace.File},
			{Path: "run.sh", Op: workspace.Modified, Kind: workspace.File, Exec: true, ModeOnly: true},
			{Path: "stop.sh", Op: workspace.Modified, Kind: workspace.File, ModeOnly: true},
		}}}},
	}
}

func TestCassetteShow(t *testing.T) {
	dir := projectDir(t)
	require.NoError(t, cassette.Write(disk.Tree(dir), filepath.Join(dir, "a.1.jsonl"), everything()))
	got := call(t, dir, "cassette", "show", "a.1.jsonl")
	require.Equal(t, exitOK, got.code, got.stderr)
	golden.Equal(t, "testdata/cassette/show.golden", got.stdout)
	full := call(t, dir, "cassette", "show", "--full", "a.1.jsonl")
	require.Equal(t, exitOK, full.code, full.stderr)
	golden.Equal(t, "testdata/cassette/show-full.golden", full.stdout)
	for _, out := range []string{got.stdout, full.stdout} {
		require.NotContains(t, out, "\x1b")
		require.NotContains(t, out, "\u202e")
	}

	imported := everything()
	imported.Header.Origin, imported.Header.Endpoint, imported.Header.Sandbox = "imported from a tool 1.0", "", ""
	imported.Header.Fingerprints = imported.Header.Fingerprints.OfImport()
	require.NoError(t, cassette.Write(disk.Tree(dir), filepath.Join(dir, "a.2.jsonl"), imported))
	got = call(t, dir, "cassette", "show", "a.2.jsonl")
	require.Contains(t, got.stdout,
		"\norigin      imported from a tool 1.0\nrecorded    2026-01-31 12:00:00 UTC, sandbox "+
			"unknown\n")

	require.NoError(t, os.WriteFile(filepath.Join(dir, "b.jsonl"), []byte("{}\n"), 0o644))
	noHeader := "sdd-eval: " + filepath.Join(dir, "b.jsonl") + ":1: not a cassette: there is no header\n"
	require.Equal(t, called{exitHarness, "", noHeader}, call(t, dir, "cassette", "show", "b.jsonl"))
	require.Equal(t, called{exitUsage, "", "sdd-eval: c.jsonl: no such file\n"},
		call(t, dir, "cassette", "show", "c.jsonl"))
	require.Equal(t, exitUsage, call(t, dir, "cassette", "show", "").code)
}

// TestCassetteColours: colours change nothing else in the output.
func TestCassetteColours(t *testing.T) {
	show := func(p paint) string {
		var b bytes.Buffer
		page := cassettePage{w: &b, paint: p, secrets: new(secret.Set)}
		page.head("a.1.jsonl", everything())
		page.turn(1, everything().Turns[0])
		return b.String()
	}
	plain, painted := show(false), show(true)
	parts := []string{"\x1b[1mturn 1\x1b[0m", "\x1b[36mc1 Read\x1b[0m", "\x1b[31mc3 failed\x1b[0m", "\x1b[2m"}
	for _, part := range parts {
		require.Contains(t, painted, part)
	}
	require.Equal(t, plain, regexp.MustCompile(`\x1b\[[0-9]*m`).ReplaceAllString(painted, ""))
}

// TestCassetteShowsNoSecrets: a text that has become a secret since it was recorded is masked.
func TestCassetteShowsNoSecrets(t *testing.T) {
	dir := projectDir(t)
	c := everything()
	key := "sk-" + "test-not-a-key-1234"
	c.Turns[0].Events[1].Body = trajectory.Thought{Text: "The key is " + key}
	require.NoError(t, cassette.Write(disk.Tree(dir), filepath.Join(dir, "a.1.jsonl"), c))
	require.NoError(t, cassette.Write(disk.Tree(dir), filepath.Join(dir, "b.1.jsonl"), everything()))
	for _, args := range [][]string{
		{"show", "a.1.jsonl"},
		{"show", "--full", "a.1.jsonl"},
		{"diff", "a.1.jsonl", "b.1.jsonl"},
	} {
		var stdout, stderr bytes.Buffer
		a := App{
			Args: append([]string{"cassette"}, args...), Stdout: &stdout, Stderr: &stderr, Dir: dir,
			Getenv: func(string) string { return "" }, Environ: []string{"SHOP_API_KEY=" + key}, Now: time.Now,
		}
		a.Run(t.Context())
		require.Contains(t, stdout.String(), "The key is [REDACTED:")
		require.NotContains(t, stdout.String(), key)
	}
}

func TestCassetteDiff(t *testing.T) {
	dir := projectDir(t)
	write := func(name string, change func(*cassette.Cassette)) {
		c := everything()
		change(c)
		require.NoError(t, cassette.Write(disk.Tree(dir), filepath.Join(dir, name), c))
	}
	write("a.jsonl", func(*cassette.Cassette) {})
	write("same.jsonl", func(c *cassette.Cassette) {
		c.Header.RecordedAt, c.Header.Sandbox = noon.Add(time.Hour), "none"
		c.Turns[0].Events[3].At = time.Hour
	})
	write("other.jsonl", func(c *cassette.Cassette) {
		c.Turns[0].Events[1].Body = trajectory.Thought{Text: "Let me see."}
		c.Turns[0].Events = append(c.Turns[0].Events[:9:9], c.Turns[0].Events[10:]...)
	})
	require.Equal(t, called{}, call(t, dir, "cassette", "diff", "a.jsonl", "same.jsonl"))
	got := call(t, dir, "cassette", "diff", "a.jsonl", "other.jsonl")
	require.Equal(t, exitFailed, got.code)
	require.Equal(t, "sdd-eval: cassette diff: 2 differences\n", got.stderr)
	golden.Equal(t, "testdata/cassette/diff.golden", got.stdout)
	require.Equal(t, exitUsage, call(t, dir, "cassette", "diff", "a.jsonl", "c.jsonl").code)
}

func TestWrap(t *testing.T) {
	tests := []struct {
		name, line string
		want       []string
	}{
		{"short", "a b", []string{"a b"}},
		{"spaces of a line that fits", "  a  b", []string{"  a  b"}},
		{"between words", "aaa bbb ccc ddd", []string{"aaa bbb", "ccc ddd"}},
		{"a word too long", "a bbbbbbbbbbbb c", []string{"a", "bbbbbb…", "c"}},
		{"wide", "日本語 日本語", []string{"日本語", "日本語"}},
		{"empty", "", []string{""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, wrap(tt.line, 7)) })
	}
}

func TestBytesText(t *testing.T) {
	for n, want := range map[int]string{
		0: "0 B", 1023: "1023 B", 1024: "1.0 KiB", 2150: "2.1 KiB", 5 << 20: "5.0 MiB",
	} {
		require.Equal(t, want, bytesText(n))
	}
}

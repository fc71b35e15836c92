package convert

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// samples are the files that real agents wrote, and a trajectory.
func samples(t testing.TB, format string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", format, "*.json*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return slices.DeleteFunc(files, func(f string) bool { return strings.HasSuffix(f, ".golden") })
}

// TestFormats holds the formats to those of which the kinds of agents say that they write them.
func TestFormats(t *testing.T) {
	written := []string{ATIF}
	for _, p := range agent.Profiles() {
		if p.Transcript != "" {
			written = append(written, p.Transcript)
		}
	}
	require.ElementsMatch(t, Names(Readable()), written)
}

// TestEachFormat holds every row of the table to what all formats owe, and the documentation to the rows.
func TestEachFormat(t *testing.T) {
	page, err := os.ReadFile("../../docs/import.md")
	require.NoError(t, err)
	broken := []struct{ name, reason, text string }{
		{"empty", "nothing was kept", ""},
		{"blank", "", "\n\n"},
		{"cut", "the disk was full", `{"type":"assistant","mess`},
		{"not JSON", "another file", "#!/bin/sh\n"},
		{"another document", "no session", `{"name": "demo", "version": 1}`},
		{"null", "", "null\n"},
		{"binary", "", "\x00\xff\x1f\x8b"},
		{"deep", "", `{"a":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + "}\n"},
	}
	for _, f := range formats {
		t.Run(f.Name, func(t *testing.T) {
			require.Contains(t, string(page), "| `"+f.Name+"` |", "docs/import.md has a row for it")
			require.NotEmpty(t, f.Holds)
			require.NotNil(t, f.read, "a format that is only written needs a test of its own here")
			for _, tt := range broken {
				file := filepath.Join(t.TempDir(), "session.jsonl")
				require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o644))
				_, err := Read(f.Name, file, Options{Stop: "end_turn"})
				require.ErrorContains(t, err, file, "%s: %s", tt.name, tt.reason)
			}
			large, link := filepath.Join(t.TempDir(), "large"), filepath.Join(t.TempDir(), "link")
			require.NoError(t, os.WriteFile(large, nil, 0o644))
			require.NoError(t, os.Truncate(large, maxFile+1))
			require.NoError(t, os.Symlink(t.TempDir(), link))
			for file, want := range map[string]string{
				large: "536870913 bytes exceed the limit of 536870912", link: "not a regular file",
			} {
				_, err := Read(f.Name, file, Options{Stop: "end_turn"})
				require.ErrorContains(t, err, want)
				require.ErrorContains(t, err, file)
			}
			_, err := Read(f.Name, filepath.Join(t.TempDir(), "none"), Options{Stop: "end_turn"})
			require.ErrorIs(t, err, os.ErrNotExist)
			for _, sample := range samples(t, f.Name) {
				s, err := Read(f.Name, sample, Options{Stop: "end_turn"})
				require.NoError(t, err, sample)
				require.Equal(t, f.Name, s.Format)
				c, _, err := s.Cassette(Unit{
					ID: "demo/task/claude/1", Secrets: new(secret.Set), Now: time.Unix(1e9, 0),
				})
				require.NoError(t, err, sample)
				if f.write == nil {
					continue
				}
				written, err := Write(f.Name, c)
				require.NoError(t, err, sample)
				file := filepath.Join(t.TempDir(), "written")
				require.NoError(t, os.WriteFile(file, written, 0o644))
				again, err := Read(f.Name, file, Options{Stop: "end_turn"})
				require.NoError(t, err, sample)
				require.Equal(t, s.Prompts(), again.Prompts(), sample)
			}
		})
	}
}

// A file of another format is an error that names its format.
func TestAnotherFormat(t *testing.T) {
	for _, format := range Readable() {
		for _, other := range Readable() {
			for _, sample := range samples(t, other.Name) {
				looks, found := looksLike(sample)
				require.True(t, found, sample)
				require.Equal(t, other.Name, looks.Name, sample)
				if other.Name == format.Name {
					continue
				}
				_, err := Read(format.Name, sample, Options{Stop: "end_turn"})
				require.ErrorContains(t, err, sample, "as %s", format.Name)
				require.ErrorContains(t, err, "the file looks like "+other.Holds+", which --from "+other.Name+" reads",
					"as %s", format.Name)
			}
		}
	}
}

// text is a session for a golden file, an event a line.
func text(t *testing.T, s *Session) string {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s, session %s in %s, %s %s %s, %s\n", s.Format, s.Version, s.ID, s.Cwd, s.Agent.Name,
		s.Agent.Version, s.Agent.Model, s.Start.Format(time.RFC3339Nano))
	for _, events := range s.Turns {
		for _, e := range events {
			var line bytes.Buffer
			enc := json.NewEncoder(&line)
			enc.SetEscapeHTML(false)
			require.NoError(t, enc.Encode(e.Body))
			fmt.Fprintf(&b, "%d %9s %-11s %s", e.Turn, e.At, e.Body.EventName(), line.String())
		}
	}
	for _, l := range s.Left {
		fmt.Fprintln(&b, "left out:", l)
	}
	return b.String()
}

func TestSamples(t *testing.T) {
	for _, format := range Names(Readable()) {
		for _, file := range samples(t, format) {
			t.Run(filepath.ToSlash(strings.TrimPrefix(file, "testdata")), func(t *testing.T) {
				s, err := Read(format, file, Options{Stop: "end_turn"})
				require.NoError(t, err)
				golden.Equal(t, strings.TrimSuffix(file, filepath.Ext(file))+".golden", text(t, s))
			})
		}
	}
}

// An agent's own record of a session and its recording through the protocol show the same behaviour: the samples
// were written in sessions that went by the scripts of the recordings.
func TestAsRecorded(t *testing.T) {
	tests := []struct {
		name      string
		format    string
		recorded  string
		kind      string
		calls     func(c *trajectory.ToolCall) // what is told otherwise
		otherWays string
	}{
		{"claude/fix-bug", Claude, "fix-bug/fix-bug/task/claude.1.jsonl", "claude-code-acp", nil, ""},
		{"claude/boundaries", Claude, "boundaries/boundaries/outside/claude.1.jsonl", "claude-code-acp", nil, ""},
		{
			"claude/client-fix-bug", Claude, "fix-bug/fix-bug/task/claude-client.1.jsonl", "claude-code-acp",
			func(c *trajectory.ToolCall) { c.ExitCode = nil }, "the client knows more exit codes than the agent",
		},
		{
			"codex/fix-bug", Codex, "fix-bug/fix-bug/task/codex.1.jsonl", "codex-acp",
			func(c *trajectory.ToolCall) {
				if c.Name, c.Args = "", nil; c.Kind == "read" {
					c.Kind, c.Locations = "execute", nil
				}
			},
			"the adapter names tools by what they do, and takes commands that print files for reads",
		},
		{
			"codex/boundaries", Codex, "boundaries/boundaries/outside/codex.1.jsonl", "codex-acp",
			func(c *trajectory.ToolCall) { c.Name, c.Args = "", nil }, "the adapter names tools by what they do",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			recorded, err := cassette.Read(filepath.Join("..", "..", "cassettes", "evals",
				filepath.FromSlash(tt.recorded)))
			require.NoError(t, err)
			s, err := Read(tt.format, filepath.Join("testdata", filepath.FromSlash(tt.name)+".jsonl"),
				Options{Stop: "end_turn"})
			require.NoError(t, err)
			imported, _, err := s.Cassette(Unit{ID: recorded.Header.Unit, Kind: tt.kind, Secrets: new(secret.Set)})
			require.NoError(t, err)
			if d := cmp.Diff(outline(recorded, tt.calls), outline(imported, tt.calls)); d != "" {
				t.Errorf("(-recorded +imported) %s\n%s", tt.otherWays, d)
			}
		})
	}
}

// outline has what was asked, said and called, and why turns ended.
func outline(c *cassette.Cassette, change func(*trajectory.ToolCall)) []string {
	run := new(trajectory.Run)
	var lines []string
	for _, t := range c.Turns {
		run.Events = append(run.Events, t.Events...)
	}
	for _, e := range run.Events {
		switch b := e.Body.(type) {
		case trajectory.Prompt:
			lines = append(lines, "prompt "+b.Text)
		case trajectory.Thought:
			lines = append(lines, "thought "+b.Text)
		case trajectory.Message:
			lines = append(lines, "message "+b.Text)
		case trajectory.Stop:
			lines = append(lines, "stop "+b.Reason)
		}
	}
	for _, call := range run.ToolCalls() {
		if change != nil {
			change(&call)
		}
		code := "none"
		if call.ExitCode != nil {
			code = fmt.Sprint(*call.ExitCode)
		}
		args, _ := json.Marshal(call.Args)
		lines = append(lines,
			fmt.Sprintf("%s %s %s %s group %d exit %s %d places %s", call.ID, call.Name, call.Kind, call.Status,
				call.Group, code, len(call.Locations), args))
	}
	return lines
}

// An imported cassette is a cassette: it is written, read and normalised like a recording.
func TestCassette(t *testing.T) {
	for _, format := range Names(Readable()) {
		for _, file := range samples(t, format) {
			t.Run(filepath.ToSlash(strings.TrimPrefix(file, "testdata")), func(t *testing.T) {
				s, err := Read(format, file, Options{Stop: "end_turn"})
				require.NoError(t, err)
				c, masked, err := s.Cassette(Unit{
					ID: "p/task/v/1", Kind: "acp", Secrets: new(secret.Set), ClientVersion: "0.1.0",
					Now: time.Unix(0, 0),
				})
				require.NoError(t, err)
				assert.False(t, masked)
				assert.Zero(t, c.Header.Fingerprints)
				c.Header.Fingerprints = cassette.Fingerprints{
					Kind: "acp", Workspace: cassette.FilesOf(workspace.Manifest{}),
				}
				path := filepath.Join(t.TempDir(), "a.1.jsonl")
				require.NoError(t, cassette.Write(disk.Tree(filepath.Dir(path)), path, c))
				read, err := cassette.Read(path)
				require.NoError(t, err)
				assert.Equal(t, "imported from "+format+" "+s.Version, read.Header.Origin)
				assert.Empty(t, read.Header.Sandbox)
				assert.Empty(t, read.Header.Endpoint)
				data, err := os.ReadFile(path)
				require.NoError(t, err)
				assert.NotContains(t, string(data), "/home/user/inventory", "the workspace has a name")
			})
		}
	}
}

func TestSecretsAreMasked(t *testing.T) {
	const value = "sk-" + "test-3f9a0c77d1e24b51"
	secrets := new(secret.Set)
	secrets.Mark("EXAMPLE_KEY", value)
	s := &Session{Format: Claude, Version: "1", Turns: [][]trajectory.Event{{
		{Turn: 1, Body: trajectory.Prompt{Text: "hello"}},
		{Turn: 1, Body: trajectory.ToolStart{ID: "a", Name: "Bash", Args: map[string]any{"command": "echo " + value}}},
		{Turn: 1, Body: trajectory.ToolEnd{ID: "a", Status: trajectory.Completed, Printed: value + "\n"}},
		{Turn: 1, Body: trajectory.Message{Text: "Authorization: Bearer of-nobody-4711"}},
		{Turn: 1, Body: trajectory.Stop{Reason: "end_turn"}},
	}}}
	c, masked, err := s.Cassette(Unit{ID: "p/task/v/1", Secrets: secrets})
	require.NoError(t, err)
	assert.True(t, masked)
	data, err := json.Marshal(c.Turns[0].Events)
	require.NoError(t, err)
	assert.NotContains(t, string(data), value)
	assert.Contains(t, string(data), "[REDACTED:EXAMPLE_KEY]")
	assert.Contains(t, string(data), "Bearer [REDACTED:key]")
}

// TestUnknownEnd: a file that was cut after a message looks like one that is whole.
func TestUnknownEnd(t *testing.T) {
	for format, sample := range map[string]string{
		Claude: "client-fix-bug.jsonl", Copilot: "comment.jsonl", Qwen: "comment.jsonl", Gemini: "comment.jsonl",
		ATIF: "stock.json",
	} {
		t.Run(format, func(t *testing.T) {
			file := filepath.Join("testdata", format, sample)
			_, err := Read(format, file, Options{})
			require.ErrorContains(t, err, file+": the file does not say why turn")
			require.ErrorContains(t, err, "give --stop end_turn, else the reason")
			s, err := Read(format, file, Options{Stop: "max_tokens"})
			require.NoError(t, err)
			stops := (&trajectory.Run{Events: s.Turns[len(s.Turns)-1]}).StopReasons()
			require.Equal(t, []string{"max_tokens"}, stops)
		})
	}
}

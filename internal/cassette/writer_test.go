package cassette

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "er", "a.1.jsonl")
	require.NoError(t, Write(path, sample()))
	got, err := Read(path)
	require.NoError(t, err)
	want := sample()
	want.Path = path
	assert.Equal(t, want, got)
	info, err := os.Stat(path)
	require.NoError(t, err)
	if runtime.GOOS != "windows" {
		assert.Equal(t, os.FileMode(0o644), info.Mode())
	}
	assert.Equal(t, []string{"a.1.jsonl"}, names(t, filepath.Dir(path)), "nothing else is left")
}

// What cannot be read again is not written, and what was there stays.
func TestWriteRefuses(t *testing.T) {
	tests := []struct {
		name   string
		damage func(*Cassette)
		want   string
	}{
		{"no prompt", func(c *Cassette) { c.Turns[0].Events = c.Turns[0].Events[1:] }, "turn 1: it has 0 prompts instead of one"},
		{"two prompts", func(c *Cassette) { c.Turns[1].Events[1].Body = trajectory.Prompt{} }, "turn 2: it has 2 prompts instead of one"},
		{"turns mixed up", func(c *Cassette) { c.Turns[1].Events[1].Turn = 1 }, "turn 2: an event of turn 1"},
		{"event without a body", func(c *Cassette) { c.Turns[1].Events[1].Body = nil }, "turn 2: an event without a body"},
		{"event of an unknown type", func(c *Cassette) { c.Turns[1].Events[1].Body = unknown{} }, `unknown event "unknown"`},
		{"value that is not JSON", func(c *Cassette) { c.Turns[1].Events[1].Body = trajectory.Notice{Data: func() {}} }, "turn 2: encode notice: json: unsupported type"},
		{"changes not sorted", func(c *Cassette) { c.Turns[0].Delta.Changes[0].Path = "z" }, "the turn's changes are not sorted by path"},
		{"another level", func(c *Cassette) { c.Header.Level = "wire" }, `the cassette is of level "wire"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.jsonl")
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
			c := sample()
			tt.damage(c)
			err := Write(path, c)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, path)
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, "old", string(data))
			assert.Equal(t, []string{"a.jsonl"}, names(t, filepath.Dir(path)))
		})
	}
}

type unknown struct{}

func (unknown) EventName() string { return "unknown" }

// A file that cannot take its place leaves nothing behind.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "in-the-way"), 0o755))
	require.ErrorContains(t, Write(path, sample()), "write cassette: rename")
	assert.Equal(t, []string{"a.jsonl"}, names(t, dir))
}

func TestWriteConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c := sample()
			c.Header.Unit = fmt.Sprint(i)
			assert.NoError(t, Write(path, c))
			_, err := Read(path)
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	assert.Equal(t, []string{"a.jsonl"}, names(t, filepath.Dir(path)))
}

// TestContents has contents of files that are told as text, and others.
func TestContents(t *testing.T) {
	tests := []struct{ name, data, want string }{
		{"text", "a\tb\r\n\"é\"", `"text":"a\tb\r\n\"é\""`},
		{"empty", "", `"text":""`},
		{"invalid UTF-8", "\xff", `"base64":"/w=="`},
		{"NUL", "a\x00", `"base64":"YQA="`},
		{"control characters", "\x1b[0m", `"base64":"G1swbQ=="`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := sample()
			c.Turns[0].Delta.Changes = []workspace.Change{{Path: "f", Op: workspace.Added, Kind: workspace.File, Data: []byte(tt.data)}}
			data := encoded(t, c)
			assert.Contains(t, string(data), `{"change":"added","path":"f","kind":"file",`+tt.want+"}\n")
			assert.Equal(t, tt.data, string(decoded(t, data).Turns[0].Delta.Changes[0].Data))
		})
	}
}

func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

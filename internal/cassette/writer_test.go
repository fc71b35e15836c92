package cassette

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "deep", "er", "a.1.jsonl")
	want := sample()
	require.NoError(t, Write(disk.Tree(filepath.Dir(path)), path, want))
	got, err := Read(path)
	require.NoError(t, err)
	want.Path = path
	assert.Len(t, want.Sum, 64)
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
		{
			"no prompt", func(c *Cassette) { c.Turns[0].Events = c.Turns[0].Events[1:] },
			"turn 1: 0 prompts, want 1",
		},
		{
			"two prompts", func(c *Cassette) { c.Turns[1].Events[1].Body = trajectory.Prompt{} },
			"turn 2: 2 prompts, want 1",
		},
		{
			"turns mixed up", func(c *Cassette) { c.Turns[1].Events[1].Turn = 1 },
			"turn 2: it contains an event of turn 1",
		},
		{
			"event without a body", func(c *Cassette) { c.Turns[1].Events[1].Body = nil },
			"turn 2: an event has no body",
		},
		{
			"event of an unknown type", func(c *Cassette) { c.Turns[1].Events[1].Body = unknown{} },
			`unknown event "unknown"`,
		},
		{
			"value that is not JSON",
			func(c *Cassette) { c.Turns[1].Events[1].Body = trajectory.Notice{Data: func() {}} },
			"turn 2: encode notice: json: unsupported type",
		},
		{
			"changes not sorted", func(c *Cassette) { c.Turns[0].Delta.Changes[0].Path = "z" },
			"the turn's changes are not sorted by path",
		},
		{"another level", func(c *Cassette) { c.Header.Level = "wire" }, `unknown level "wire"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.jsonl")
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o644))
			c := sample()
			tt.damage(c)
			err := Write(disk.Tree(filepath.Dir(path)), path, c)
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

// If the file cannot be renamed, no temporary file remains.
func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.jsonl")
	require.NoError(t, os.MkdirAll(filepath.Join(path, "in-the-way"), 0o755))
	require.ErrorContains(t, Write(disk.Tree(filepath.Dir(path)), path, sample()), "write cassette: rename")
	assert.Equal(t, []string{"a.jsonl"}, names(t, dir))

	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	require.ErrorContains(t, Write(disk.Tree(file), filepath.Join(file, "a.jsonl"), sample()), "write cassette: ")
}

func TestWriteConcurrently(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.jsonl")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			c := sample()
			c.Header.Unit = fmt.Sprint(i)
			assert.NoError(t, Write(disk.Tree(filepath.Dir(path)), path, c))
			_, err := Read(path)
			assert.NoError(t, err)
		})
	}
	wg.Wait()
	assert.Equal(t, []string{"a.jsonl"}, names(t, filepath.Dir(path)))
}

// TestContents writes contents of files as text, and those that are not text as base64.
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
			c.Turns[0].Delta.Changes = []workspace.Change{{
				Path: "f", Op: workspace.Added, Kind: workspace.File,
				Data: []byte(tt.data),
			}}
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

func TestMigrate(t *testing.T) {
	large := sample()
	large.Turns[0].Events[6].Body = trajectory.Message{Text: strings.Repeat("It is done. ", maxPlain/10)}
	tests := []struct {
		name   string
		reason string
		c      *Cassette
		plant  func(t *testing.T, path string) // beside what Write wrote
		remove string                          // a pattern
		want   bool
	}{
		{name: "as-written", c: sample()},
		{name: "as-written-compressed", c: large},
		{name: "new-pattern", c: sample(), remove: `Fixed`, want: true},
		{
			name: "new-pattern-of-a-large-one", reason: "what is left is small", c: large,
			remove: `(It is done\. )+`, want: true,
		},
		{
			name: "decompressed-by-a-person", reason: "as nobody would write it", c: large, want: true,
			plant: func(t *testing.T, path string) {
				src, err := open(path)
				require.NoError(t, err)
				defer src.Close()
				data, err := os.Create(path)
				require.NoError(t, err)
				_, err = data.ReadFrom(src)
				require.NoError(t, err)
				require.NoError(t, data.Close())
				require.NoError(t, os.Remove(Compressed(path)))
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "a.1.jsonl")
			require.NoError(t, Write(disk.Tree(filepath.Dir(path)), path, tt.c))
			if tt.plant != nil {
				tt.plant(t, path)
			}
			migrate := func(dry bool) bool {
				var patterns []*regexp.Regexp
				if tt.remove != "" {
					patterns = append(patterns, regexp.MustCompile(tt.remove))
				}
				changed, err := Migrate(disk.Tree(filepath.Dir(path)), path,
					tt.c.Header.Unit, NewNormaliser(nil, patterns, nil), dry)
				require.NoError(t, err)
				return changed
			}
			before := files(t, filepath.Dir(path))
			assert.Equal(t, tt.want, migrate(true), tt.reason)
			assert.Equal(t, before, files(t, filepath.Dir(path)), "a dry run changes nothing")
			assert.Equal(t, tt.want, migrate(false))
			assert.Equal(t, tt.want, !assert.ObjectsAreEqual(before, files(t, filepath.Dir(path))))
			assert.Len(t, files(t, filepath.Dir(path)), 1)
			assert.False(t, migrate(false), "once is enough")
			_, err := Read(path)
			require.NoError(t, err)
		})
	}
}

// TestMigrateOnce checks that migrating a cassette with the patterns of its recording changes nothing, whatever they
// match.
func TestMigrateOnce(t *testing.T) {
	tests := []struct {
		name     string
		pattern  string
		volatile string
		body     trajectory.Body
	}{
		{
			name: "keys-that-become-equal", pattern: `\d+`,
			body: trajectory.ToolStart{ID: "y", Args: map[string]any{"1": "a", "2": "b", "3": "c", "44": "d"}},
		},
		{
			name: "keys-that-were-made-different", pattern: `#`,
			body: trajectory.ToolStart{ID: "y", Args: map[string]any{"a": "a", "a#2": "b", "#": "c"}},
		},
		{name: "the-protocols-words", pattern: `[a-z]+_[a-z]+`, body: trajectory.Permission{
			ID: "x", Options: []trajectory.PermissionOption{{ID: "allow_it", Kind: "allow_once"}}, Decision: "allow_it",
		}},
		{name: "a-plan", pattern: `\w+`, body: trajectory.Plan{Entries: []trajectory.PlanEntry{{
			Content:  "Do it",
			Priority: "high", Status: "in_progress",
		}}}},
		{name: "ids-below-what-is-volatile", volatile: "turn", body: trajectory.Notice{Name: "n", Data: map[string]any{
			"turn": map[string]any{"toolCallId": "lost"}, "zoo": map[string]any{"toolCallId": "kept"},
		}}},
		{
			name: "a-key-that-says-id", pattern: `toolCallId|session/\w+`,
			body: trajectory.Notice{Name: "session/update", Data: map[string]any{"toolCallId": "own"}},
		},
		{name: "keys-whose-order-changes", pattern: `b+`, body: trajectory.Notice{Name: "n", Data: map[string]any{
			"a": map[string]any{"toolCallId": "first"}, "bb": map[string]any{"toolCallId": "second"},
		}}},
		{name: "all-there-is", pattern: `(?s).+`, body: trajectory.Message{Text: "It is done."}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var patterns []*regexp.Regexp
			if tt.pattern != "" {
				patterns = append(patterns, regexp.MustCompile(tt.pattern))
			}
			normaliser := func() *Normaliser { return NewNormaliser(nil, patterns, []string{tt.volatile}) }
			recorded := normaliser().Events([]trajectory.Event{
				{Turn: 1, Body: trajectory.Prompt{Text: "Do it."}},
				{Turn: 1, Body: trajectory.ToolStart{ID: "x"}},
				{Turn: 1, Body: tt.body},
				{Turn: 1, Body: trajectory.Stop{Reason: "end_turn"}},
			})
			assert.Equal(t, trajectory.Stop{Reason: "end_turn"}, recorded[3].Body)
			path := filepath.Join(t.TempDir(), "a.1.jsonl")
			require.NoError(t, Write(disk.Tree(filepath.Dir(path)), path,
				&Cassette{Header: sample().Header, Turns: []Turn{{Events: recorded}}}))
			before, err := os.ReadFile(path)
			require.NoError(t, err)
			changed, err := Migrate(disk.Tree(filepath.Dir(path)), path,
				sample().Header.Unit, normaliser(), false)
			require.NoError(t, err)
			after, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.False(t, changed, "%s\n%s", before, after)
		})
	}
}

// FuzzMigrateOnce checks the same for arbitrary data of agents.
func FuzzMigrateOnce(f *testing.F) {
	f.Add(`{"a":{"toolCallId":"1"},"1":"2","1#2":[]}`, `\d+`)
	f.Add(`{"sessionId":"a","x#2":{"terminal_id":"b"},"x":{}}`, `[a-z]`)
	f.Add(`[{"a":"c1"},{"toolCallId":"c1"}]`, `#\d`)
	f.Fuzz(func(t *testing.T, data, pattern string) {
		var patterns []*regexp.Regexp
		if p, err := regexp.Compile(pattern); err == nil && !p.MatchString("") {
			patterns = append(patterns, p)
		}
		var sent any
		if json.Unmarshal([]byte(data), &sent) != nil {
			t.Skip()
		}
		events := []trajectory.Event{
			{Turn: 1, Body: trajectory.Notice{Name: "n", Data: sent}},
			{Turn: 1, Body: trajectory.ToolStart{ID: data, Args: sent}},
			{Turn: 1, Body: trajectory.State{Mode: data}},
			{Turn: 1, Body: trajectory.Stop{Reason: "cancelled"}},
			{Turn: 1, Body: trajectory.State{Title: data}},
		}
		once := NewNormaliser(nil, patterns, []string{"v"}).Events(events)
		again := NewNormaliser(nil, patterns, []string{"v"})
		again.numbered = true
		if diff := cmp.Diff(once, again.Events(once)); diff != "" {
			t.Error(diff)
		}
	})
}

func TestMigrateRefuses(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.1.jsonl")
	refuses := func(want string) {
		t.Helper()
		before := files(t, filepath.Dir(path))
		_, err := Migrate(disk.Tree(filepath.Dir(path)), path,
			sample().Header.Unit, NewNormaliser(nil, nil, nil), false)
		require.ErrorContains(t, err, want)
		assert.Equal(t, before, files(t, filepath.Dir(path)))
	}
	refuses("there is no such cassette")
	other := sample()
	other.Header.Unit = "other/task/a/1"
	require.NoError(t, Write(disk.Tree(filepath.Dir(path)), path, other))
	refuses("the cassette was recorded for other/task/a/1")
	require.NoError(t, os.WriteFile(path, []byte("{\n"), 0o644))
	refuses("not a cassette")
}

// files returns the contents of the files in a directory, by their names.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	all := make(map[string]string)
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		require.NoError(t, err)
		all[e.Name()] = string(data)
	}
	return all
}

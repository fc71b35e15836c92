package cassette

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// benchmarkCassette has a turn of 20 tool calls, as an agent makes them, and two changed files.
func benchmarkCassette() *Cassette {
	c := sample()
	turn := Turn{Events: []trajectory.Event{{Turn: 1, Body: trajectory.Prompt{Text: strings.Repeat("Do it. ", 50)}}}}
	add := func(b trajectory.Body) {
		turn.Events = append(turn.Events, trajectory.Event{
			Turn: 1,
			At:   time.Duration(len(turn.Events)) * time.Millisecond, Body: b,
		})
	}
	for i := range 20 {
		id, path := fmt.Sprintf("c%d", i+1), fmt.Sprintf("$WORKSPACE/internal/pkg%d/file.go", i)
		add(trajectory.Message{Text: "I will look at the next file now."})
		add(trajectory.ToolStart{
			ID: id, Name: "Read", Kind: "read", Title: "Read " + path, Locations: []trajectory.Location{{Path: path}},
			Args: map[string]any{"file_path": path, "limit": json.Number("2000"), "offset": json.Number("1")},
		})
		add(trajectory.ToolEnd{ID: id, Status: trajectory.Completed, Output: map[string]any{
			"content": []any{map[string]any{"type": "text", "text": strings.Repeat("func f() { return }\n", 40)}},
		}})
	}
	add(trajectory.Stop{Reason: "end_turn"})
	turn.Delta.Changes = []workspace.Change{
		{Path: "a.go", Op: workspace.Modified, Kind: workspace.File, Data: []byte(strings.Repeat("package a\n", 300))},
		{Path: "b.go", Op: workspace.Added, Kind: workspace.File, Data: []byte(strings.Repeat("package b\n", 300))},
	}
	c.Turns = []Turn{turn}
	return c
}

// BenchmarkRead reads a cassette, and beside it the same file as a plain test would: line by line, into any. The second
// is the measure of the first.
func BenchmarkRead(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.jsonl")
	require.NoError(b, Write(disk.Tree(filepath.Dir(path)), path, benchmarkCassette()))
	info, err := os.Stat(path)
	require.NoError(b, err)
	b.Run("cassette", func(b *testing.B) {
		b.SetBytes(info.Size())
		b.ReportAllocs()
		for b.Loop() {
			if _, err := Read(path); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain", func(b *testing.B) {
		b.SetBytes(info.Size())
		b.ReportAllocs()
		for b.Loop() {
			data, err := os.ReadFile(path)
			if err != nil {
				b.Fatal(err)
			}
			for line := range bytes.Lines(data) {
				var v any
				if err := json.Unmarshal(line, &v); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
}

// BenchmarkReplay reads a cassette, checks it and makes its changes in a workspace.
func BenchmarkReplay(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.jsonl")
	c := benchmarkCassette()
	c.Turns[0].Delta.Changes[0].Op = workspace.Added
	require.NoError(b, Write(disk.Tree(filepath.Dir(path)), path, c))
	base := b.TempDir()
	for i := 0; b.Loop(); i++ {
		dir := filepath.Join(base, fmt.Sprint(i))
		require.NoError(b, os.Mkdir(dir, 0o755))
		c, err := Read(path)
		require.NoError(b, err)
		prompt := c.Turns[0].prompt()
		require.Empty(b, c.Stale(c.Header.Fingerprints, []string{prompt}))
		p := NewPlayer(c, dir)
		_, err = p.Prompt(b.Context(), prompt)
		require.NoError(b, err)
		require.NoError(b, p.End())
	}
}

func BenchmarkWrite(b *testing.B) {
	path := filepath.Join(b.TempDir(), "a.jsonl")
	c := benchmarkCassette()
	for b.Loop() {
		require.NoError(b, Write(disk.Tree(filepath.Dir(path)), path, c))
	}
}

package engine_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

const benchPlaybook = `
name: bench
task: {prompt: Do it.}
variants: {fake: {agent: {kind: fake-acp}}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [fake]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
evaluators:
  - {type: tool_trajectory, mode: in_order, expected: [{tool: Read}, {tool: Edit}, {tool: Bash}]}
`

// BenchmarkReplay replays a session of 20 tool calls, with a workspace of 10 files of which two change, and without
// one. The others are what these are to be compared with: reading the same file and decoding its lines, and writing and
// removing the same files. Set TMPDIR to choose the file system.
func BenchmarkReplay(b *testing.B) {
	b.Run("plain-decode", func(b *testing.B) {
		path := record(b, b.TempDir(), benchPlaybook)
		measure(b, func() {
			data, err := os.ReadFile(path)
			require.NoError(b, err)
			for line := range bytes.Lines(data) {
				var v any
				require.NoError(b, json.Unmarshal(line, &v))
			}
		})
	})
	b.Run("session", func(b *testing.B) {
		benchmarkUnit(b, b.TempDir(), benchPlaybook)
	})
	b.Run("plain-files", func(b *testing.B) {
		parent := b.TempDir()
		measure(b, func() {
			dir := filepath.Join(parent, "workspace")
			writeFiles(b, dir)
			require.NoError(b,
				os.WriteFile(filepath.Join(dir, "dir0", "file0.go"), []byte("package p // changed\n"), 0o644))
			require.NoError(b, os.WriteFile(filepath.Join(dir, "new.go"), []byte("package p\n"), 0o644))
			require.NoError(b, os.RemoveAll(dir))
		})
	})
	b.Run("session-and-workspace", func(b *testing.B) {
		root := b.TempDir()
		writeFiles(b, filepath.Join(root, "src"))
		benchmarkUnit(b, root, benchPlaybook+`
  - {type: files, expect: [{path: dir0/file0.go, contains: changed}, {path: new.go, exists: true}]}
workspace: {from: src}
`)
	})
}

func benchmarkUnit(b *testing.B, root, text string) {
	record(b, root, text)
	runner, unit := newRunner(b, root, text, engine.Replay)
	measure(b, func() {
		if u := runner.Unit(b.Context(), unit, io.Discard); u.Outcome != result.Pass {
			b.Fatal(u.Outcome, u.Reason)
		}
	})
}

// measure reports the CPU time of f, too: that of the kernel on its behalf included.
func measure(b *testing.B, f func()) {
	b.ReportAllocs()
	before := processTime()
	for b.Loop() {
		f()
	}
	b.ReportMetric(float64(processTime()-before)/float64(b.N), "cpu-ns/op")
}

// writeFiles writes the ten files that the workspaces begin with.
func writeFiles(tb testing.TB, dir string) {
	tb.Helper()
	for i := range 10 {
		path := filepath.Join(dir, fmt.Sprintf("dir%d", i%3), fmt.Sprintf("file%d.go", i))
		require.NoError(tb, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(tb, os.WriteFile(path, []byte(strings.Repeat("package p // line\n", 100)), 0o644))
	}
}

func newRunner(
	tb testing.TB, root, text string, mode engine.Mode, change ...func(*engine.Config),
) (*engine.Runner, plan.Unit) {
	tb.Helper()
	pb, err := plan.Parse("bench.yaml", []byte(text), kinds.All())
	require.NoError(tb, err)
	return runnerOf(tb, root, pb, mode, change...)
}

// runnerOf returns a runner for a playbook, and its first unit.
func runnerOf(
	tb testing.TB, root string, pb *plan.Playbook, mode engine.Mode, change ...func(*engine.Config),
) (*engine.Runner, plan.Unit) {
	tb.Helper()
	planned, err := pb.Plan()
	require.NoError(tb, err)
	cfg := engine.Config{
		Mode: mode, Root: root, Cassettes: "cassettes", Getenv: os.Getenv, Environ: os.Environ(),
		Command: func(m engine.Mode, u plan.Unit) string { return string(m) + " " + u.ID() },
	}
	for _, f := range change {
		f(&cfg)
	}
	runner, err := engine.New(planned, cfg)
	require.NoError(tb, err)
	return runner, planned.Units[0]
}

// record writes the session's cassette and returns its path.
func record(tb testing.TB, root, text string) string {
	tb.Helper()
	pb, err := plan.Parse("bench.yaml", []byte(text), kinds.All())
	require.NoError(tb, err)
	events := []trajectory.Event{{Turn: 1, Body: trajectory.Prompt{Text: "Do it."}}}
	for i := range 20 {
		at := time.Duration(i) * time.Second
		id, name := fmt.Sprintf("c%d", i+1), []string{"Read", "Edit", "Bash"}[i%3]
		args := map[string]any{
			"file_path": fmt.Sprintf("$WORKSPACE/dir%d/file%d.go", i%3, i), "old_string": "line",
			"new_string": "changed",
		}
		events = append(events,
			trajectory.Event{
				Turn: 1, At: at,
				Body: trajectory.ToolStart{ID: id, Name: name, Kind: "edit", Title: "Do " + id, Args: args},
			},
			trajectory.Event{
				Turn: 1, At: at,
				Body: trajectory.ToolEnd{ID: id, Status: trajectory.Completed, Output: strings.Repeat("output\n", 50)},
			})
	}
	events = append(events, trajectory.Event{Turn: 1, At: time.Minute, Body: trajectory.Stop{Reason: "end_turn"}})
	c := &cassette.Cassette{
		Header: cassette.Header{
			Unit: "bench/task/fake/1", Level: cassette.LevelRun, Agent: trajectory.Agent{Kind: "fake-acp"},
			Endpoint: "scripted", RecordedAt: time.Date(2026, 3, 2, 10, 15, 0, 0, time.UTC),
		},
		Turns: []cassette.Turn{{Events: events}},
	}
	src := workspace.Source{}
	if pb.Workspace.From != "" {
		src.Dir = filepath.Join(root, pb.Workspace.From)
		c.Turns[0].Delta = workspace.Delta{Changes: []workspace.Change{
			{
				Path: "dir0/file0.go", Op: workspace.Modified, Kind: workspace.File,
				Data: []byte("package p // changed\n"),
			},
			{Path: "new.go", Op: workspace.Added, Kind: workspace.File, Data: []byte("package p\n")},
		}}
	}
	t, err := workspace.Load(tb.Context(), src)
	require.NoError(tb, err)
	o, _, err := t.Overlay(nil)
	require.NoError(tb, err)
	m := o.Manifest()
	c.Header.Fingerprints = cassette.Fingerprints{
		Kind: "fake-acp", Permissions: []string{"default: allow"}, Timeout: "30m0s", Workspace: cassette.FilesOf(m),
	}
	path := cassette.Path(filepath.Join(root, "cassettes"), "bench", "task", "fake", 1)
	require.NoError(tb, cassette.Write(disk.Tree(filepath.Dir(path)), path, c))
	return path
}

//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// manyPlaybook has that many trials of ten cases.
const manyPlaybook = `name: many
cases: [%s]
trials: {count: %d}
variants: {a: {agent: {kind: fake-acp, args: [script.json]}}}
workspace: {from: src}
evaluators:
  - {type: tool_trajectory, expected: [{tool: Read}, {tool: Write}]}
  - {type: files, expect: [{path: out.txt, contains: line}]}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`

// plainTest is a test as one would write without us: it reads and decodes the same files.
const plainTest = `package plain

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestPlain(t *testing.T) {
	files, err := filepath.Glob("../cassettes/p/*/*.jsonl")
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for line := range bytes.Lines(data) {
				var v any
				if err := json.Unmarshal(line, &v); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
`

// suiteTest is a user's test of the same.
const suiteTest = `package suite

import (
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
)

func TestSuite(t *testing.T) { evaltest.Describe(t, "../p.yaml") }
`

// BenchmarkReplayRun replays sessions of 20 tool calls through the command, with a run's directory, its workspaces and
// reports, and through a user's test, and beside it runs a plain test over the same files. An operation is one unit.
// Set TMPDIR to choose the file system.
func BenchmarkReplayRun(b *testing.B) {
	for _, units := range []int{1000, 10000} {
		b.Run(fmt.Sprintf("units=%d", units), func(b *testing.B) {
			dir := b.TempDir()
			recordMany(b, dir, units)
			for _, name := range []string{"plain", "suite"} {
				pkg := filepath.Join(dir, name)
				binary := pkg + ".test"
				build := exec.Command("go", "test", "-c", "-o", binary)
				build.Dir, build.Env = pkg, append(os.Environ(), "GOFLAGS=-mod=mod")
				out, err := build.CombinedOutput()
				require.NoError(b, err, "%s", out)
				b.Run(name, func(b *testing.B) {
					measureProcess(b, units, func() *exec.Cmd {
						c := exec.Command(binary, "-test.timeout=1h")
						c.Dir = pkg
						return c
					})
				})
			}
			b.Run("sdd-eval", func(b *testing.B) {
				measureProcess(b, units, func() *exec.Cmd {
					require.NoError(b, os.RemoveAll(filepath.Join(dir, ".llman")))
					return command(dir, "run", "--playbook", "p.yaml", "--mode", "replay", "--parallel",
						fmt.Sprint(runtime.NumCPU()))
				})
			})
		})
	}
}

// measureProcess runs processes and reports their CPU time a unit, their time in all, and how much memory they had.
func measureProcess(b *testing.B, units int, start func() *exec.Cmd) {
	var cpu, peak float64
	for b.Loop() {
		b.StopTimer()
		c := start()
		b.StartTimer()
		out, err := c.CombinedOutput()
		require.NoError(b, err, "%s", out)
		cpu += (c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds()
		peak = max(peak, float64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss))
	}
	b.ReportMetric(cpu*1e6/float64(b.N*units), "cpu-µs/unit")
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N), "s/run")
	b.ReportMetric(peak/1024, "peak-MB") // KiB on Linux
	b.ReportMetric(0, "ns/op")
}

// recordMany makes a project with recordings of so many units. One is recorded, the others are copies of it.
func recordMany(b *testing.B, dir string, units int) {
	write := func(name, text string) {
		path := filepath.Join(dir, name)
		require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(b, os.WriteFile(path, []byte(text), 0o644))
	}
	root, err := filepath.Abs("../..")
	require.NoError(b, err)
	sums, err := os.ReadFile(filepath.Join(root, "go.sum"))
	require.NoError(b, err)
	const us = "github.com/sdd-eval/sdd-eval"
	write("go.mod", "module example.com/many\n\ngo 1.26.0\n\nrequire "+us+" v0.0.0\n\nreplace "+us+" => "+root+"\n")
	write("go.sum", string(sums))
	write("plain/plain_test.go", plainTest)
	write("suite/suite_test.go", suiteTest)
	write("script.json", manyScript(b))
	for i := range 5 {
		write(fmt.Sprintf("src/file%d.txt", i), strings.Repeat("a line of a file\n", 60))
	}
	write("p.yaml", fmt.Sprintf(manyPlaybook, "{id: c0, prompt: Do it.}", 1))
	out, err := command(dir, "run", "--playbook", "p.yaml", "--mode", "record").CombinedOutput()
	require.NoError(b, err, "%s", out)

	c, err := cassette.Read(cassette.Path(filepath.Join(dir, "cassettes"), "p", "c0", "a", 1))
	require.NoError(b, err)
	const cases = 10
	var list []string
	for i := range cases {
		id := fmt.Sprintf("c%d", i)
		list = append(list, "{id: "+id+", prompt: Do it.}")
		for trial := range units / cases {
			c.Header.Unit = fmt.Sprintf("many/%s/a/%d", id, trial+1)
			path := cassette.Path(filepath.Join(dir, "cassettes"), "p", id, "a", trial+1)
			require.NoError(b, cassette.Write(disk.Tree(dir), path, c))
		}
	}
	write("p.yaml", fmt.Sprintf(manyPlaybook, strings.Join(list, ", "), units/cases))
}

// manyScript returns the script of a session of 20 tool calls.
func manyScript(b *testing.B) string {
	text := strings.Repeat("a line of what was written\n", 20)
	var actions []any
	for i := range 10 {
		path := fmt.Sprintf("file%d.txt", i%5)
		actions = append(actions,
			map[string]any{"tool": map[string]any{
				"name": "Read", "kind": "read", "title": "Read " + path, "input": map[string]any{"path": path},
				"do": []any{map[string]any{"read": map[string]any{"path": path}}},
			}},
			map[string]any{"tool": map[string]any{
				"name": "Write", "kind": "edit", "title": "Write out.txt",
				"input": map[string]any{"path": "out.txt", "content": text},
				"do":    []any{map[string]any{"write": map[string]any{"path": "out.txt", "text": text}}},
			}})
	}
	data, err := json.Marshal(map[string]any{"turns": []any{map[string]any{"actions": actions}}})
	require.NoError(b, err)
	return string(data)
}

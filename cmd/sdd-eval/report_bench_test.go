//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// plainResults is a test that decodes the results of all runs, or their manifests, and does nothing with them.
const plainResults = `package plain

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
)

func TestResults(t *testing.T)   { decode(t, "results.jsonl") }
func TestManifests(t *testing.T) { decode(t, "manifest.json") }

func decode(t *testing.T, name string) {
	files, err := filepath.Glob(".llman/sdd-eval/runs/*/" + name)
	if err != nil || len(files) == 0 {
		t.Fatal(err, len(files))
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(data))
		for d.More() {
			var v any
			if err := d.Decode(&v); err != nil {
				t.Fatal(err)
			}
		}
	}
}
`

// BenchmarkReport reports and lists a run of 10,000 units of 20 calls, and lists 1,000 small runs, all by the command,
// and beside it runs plain tests that decode the same results or manifests. An operation is one command. Set TMPDIR to
// choose the file system.
func BenchmarkReport(b *testing.B) {
	b.Run("units=10000", func(b *testing.B) {
		dir := b.TempDir()
		recordMany(b, dir, 10000)
		replayMany(b, dir)
		measureTest(b, dir, "TestResults")
		for _, format := range []string{"md", "json", "junit", "html", "human"} {
			measureCommand(b, dir, "report", "--run", "latest", "--format", format)
		}
		measureCommand(b, dir, "list")
	})
	b.Run("runs=1000", func(b *testing.B) {
		dir := b.TempDir()
		recordMany(b, dir, 10)
		one := replayMany(b, dir)
		for i := range 999 {
			// As long as the id of the run, so that the size of the results is that of the manifest's totals.
			copyRun(b, one, fmt.Sprintf("20260101-000000-many-%08d", i))
		}
		measureTest(b, dir, "TestManifests")
		measureCommand(b, dir, "list")
	})
}

// replayMany replays what recordMany recorded, and returns the run's directory, the only one of the project.
func replayMany(b *testing.B, dir string) string {
	require.NoError(b, os.RemoveAll(filepath.Join(dir, ".llman")))
	out, err := command(dir, "run", "--playbook", "p.yaml", "--mode", "replay", "--parallel",
		fmt.Sprint(runtime.NumCPU())).Output()
	require.NoError(b, err)
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// copyRun copies the files of a run, without those of its units, to a run with another id.
func copyRun(b *testing.B, run, id string) {
	to := filepath.Join(filepath.Dir(run), id)
	require.NoError(b, os.Mkdir(to, 0o755))
	for _, name := range []string{"manifest.json", "playbook.yaml", "results.jsonl", "jobs.jsonl"} {
		data, err := os.ReadFile(filepath.Join(run, name))
		require.NoError(b, err)
		text := strings.ReplaceAll(string(data), filepath.Base(run), id)
		require.NoError(b, os.WriteFile(filepath.Join(to, name), []byte(text), 0o644))
	}
}

// measureCommand measures the command in a project.
func measureCommand(b *testing.B, dir string, args ...string) {
	b.Run(args[len(args)-1], func(b *testing.B) {
		measureProcess(b, 1, func() *exec.Cmd { return command(dir, args...) })
	})
}

// measureTest measures a test of [plainResults] in a project.
func measureTest(b *testing.B, dir, test string) {
	require.NoError(b, os.WriteFile(filepath.Join(dir, "plain_test.go"), []byte(plainResults), 0o644))
	plain := filepath.Join(dir, "plain.test")
	build := exec.Command("go", "test", "-c", "-o", plain)
	build.Dir = dir
	out, err := build.CombinedOutput()
	require.NoError(b, err, "%s", out)
	b.Run("plain", func(b *testing.B) {
		measureProcess(b, 1, func() *exec.Cmd {
			c := exec.Command(plain, "-test.run", "^"+test+"$")
			c.Dir = dir
			return c
		})
	})
}

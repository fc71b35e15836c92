package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

// crashPlaybook has six units, each short.
const crashPlaybook = `name: crash
task: {prompt: Do it.}
trials: {count: 2}
variants:
  a: {agent: {kind: fake-acp}}
  b: {agent: {kind: fake-acp}}
  c: {agent: {kind: fake-acp}}
workflow:
  jobs:
    before: {steps: [{run: git --version}]}
    eval:
      needs: [before]
      strategy: {matrix: {variant: [a, b, c]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`

// unitsOf counts the lines of each unit of a run.
func unitsOf(t *testing.T, run string) map[string]int {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(run, "results.jsonl"))
	require.NoError(t, err)
	units := make(map[string]int)
	for line := range bytes.Lines(data) {
		var u struct{ Unit string }
		require.NoError(t, json.Unmarshal(line, &u), "%s", line)
		units[u.Unit]++
	}
	return units
}

// TestSoakKilled kills runs at random moments and resumes them: in the end each unit has one result.
func TestSoakKilled(t *testing.T) {
	t.Parallel()
	kills := soak.Size(5, 200)
	want := make(map[string]int)
	for _, v := range []string{"a", "b", "c"} {
		for trial := 1; trial <= 2; trial++ {
			want[fmt.Sprintf("crash/task/%s/%d", v, trial)] = 1
		}
	}
	whole := time.Now()
	require.NoError(t, command(project(t, crashPlaybook), "run", "--playbook", "p.yaml").Run())
	took := time.Since(whole)
	for killed, dir := 0, ""; killed < kills; {
		args := []string{"run", "--playbook", "p.yaml"}
		if dir == "" {
			dir = project(t, crashPlaybook)
		} else if left := runs(t, dir); len(left) > 0 {
			require.Len(t, left, 1)
			args = []string{"run", "--resume", filepath.Base(left[0])}
		}
		c := command(dir, args...)
		var stderr bytes.Buffer
		c.Stderr = &stderr
		require.NoError(t, c.Start())
		ended := make(chan error, 1)
		go func() { ended <- c.Wait() }()
		select {
		case <-time.After(rand.N(took)):
			if err := c.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
				require.NoError(t, err)
				killed++
			}
			<-ended
			if killed < kills && killed%5 != 0 {
				continue // it is killed again when it is resumed
			}
		case err := <-ended:
			require.NoError(t, err, stderr.String())
		}
		finish(t, dir, want)
		dir = ""
	}
}

// finish resumes the run of a project, if there is one, and compares its results.
func finish(t *testing.T, dir string, want map[string]int) {
	t.Helper()
	left := runs(t, dir)
	if len(left) == 0 {
		return // it was killed before it had begun
	}
	out, err := command(dir, "run", "--resume", filepath.Base(left[0])).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, want, unitsOf(t, left[0]))
	jobs, err := os.ReadFile(filepath.Join(left[0], "jobs.jsonl"))
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(jobs), "\n"), "%s", jobs)
}

// TestSoakConcurrentRuns starts many runs of the demo in one project at once: each has a directory of its own, and all
// of it.
func TestSoakConcurrentRuns(t *testing.T) {
	t.Parallel()
	n := soak.Size(20, 200)
	dir := t.TempDir()
	out, err := command(dir, "init", "--name", "demo").CombinedOutput()
	require.NoError(t, err, "%s", out)
	demo := filepath.Join(".llman", "sdd-eval", "playbooks", "demo.yaml")
	var wg sync.WaitGroup
	failures := make(chan string, n)
	for range n {
		wg.Go(func() {
			if out, err := command(dir, "run", "--playbook", demo).CombinedOutput(); err != nil {
				failures <- fmt.Sprintf("%v\n%s", err, out)
			}
		})
	}
	wg.Wait()
	close(failures)
	for f := range failures {
		t.Error(f)
	}
	all := runs(t, dir)
	require.Len(t, all, n)
	for _, run := range all {
		require.Len(t, unitsOf(t, run), 2, run)
		require.FileExists(t, filepath.Join(run, "report.html"))
	}
}

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDemo runs the playbook that newcomers are given, whole: no agent is installed, and nothing judges.
func TestDemo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	demo, err := filepath.Abs("../../fixtures/playbooks/demo.yaml")
	require.NoError(t, err)
	c := command(dir, "run", "--playbook", demo)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	require.NoError(t, c.Run(), "%s", &stderr)
	run := strings.TrimSuffix(stdout.String(), "\n")
	require.Equal(t, runs(t, dir), []string{run}, "the run's directory is the only line of stdout")
	require.Contains(t, stderr.String(), "\n2 completed\n")

	file := func(name string) string {
		data, err := os.ReadFile(filepath.Join(run, filepath.FromSlash(name)))
		require.NoError(t, err)
		return string(data)
	}
	for _, variant := range []string{"sdd-fake", "legacy-fake"} {
		require.Contains(t, file("variants/"+variant+"/workspace/reorder/plan.go"), "a.PackSize - 1", "the agent has mended the bug")
		require.Contains(t, file("variants/"+variant+"/artifacts/workspace.diff"), "+++ b/reorder/plan.go")
		require.Contains(t, file("results.jsonl"), `"unit":"demo/task/`+variant+`/1"`)
	}
	require.NotEqual(t, file("variants/sdd-fake/workspace/AGENTS.md"), file("variants/legacy-fake/workspace/AGENTS.md"))
	require.Contains(t, file("report.md"), "completed")
}

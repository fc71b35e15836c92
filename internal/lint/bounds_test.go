package lint_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/lint"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

const leak = "It should be (missing + size - 1) / size.\n"

const rounds = `task: {prompt: Fix the orders.}
variants: {a: {agent: {kind: fake-acp}}}
workspace: {from: ../ws}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
evaluators:
  - {name: rounds, type: files, expect: [{path: plan.go, contains: (missing + size - 1) / size}]}
`

// A text that is too large to be read is told of; binary files are none. Links are not followed.
func TestBounds(t *testing.T) {
	files := map[string]string{
		"evals/p.yaml": rounds, "outside.md": leak,
		"ws/large.md": strings.Repeat("x\n", 1<<19) + leak, "ws/image.png": "\x00" + leak,
		"ws/many/1.md": strings.Repeat("y\n", 1<<18), // together more than what a template keeps in memory
	}
	for _, name := range "23456789abcdefghijklmnopq" {
		files["ws/many/"+string(name)+".md"] = files["ws/many/1.md"]
	}
	report, err := run(t, files, false)
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
	assert.Equal(t, []string{
		"evals/p.yaml: note: lint: 1 of the workspace's text files were not searched for answers: lint reads files " +
			"of at most 1 MiB, and 64 MiB of all files together; search them yourself, or leave them out with " +
			"workspace.exclude",
	}, report.Notes)

	files["ws/many/z.md"] = leak
	report, err = run(t, files, false)
	require.NoError(t, err)
	require.Len(t, report.Findings, 1)
	assert.Equal(t, "many/z.md", report.Findings[0].Where)
}

// What a link leads to outside is not in the workspace, and nothing is left behind.
func TestReadsOnly(t *testing.T) {
	root, temp := t.TempDir(), t.TempDir()
	write(t, root, map[string]string{"evals/p.yaml": rounds, "outside.md": leak, "ws/a.md": "a\n"}, "")
	require.NoError(t, os.Symlink("../outside.md", filepath.Join(root, "ws", "link.md")))
	path := filepath.Join(root, "evals", "p.yaml")
	p, err := plan.Read(plan.Source{Path: path, Name: "evals/p.yaml", Root: root}, kinds.All())
	require.NoError(t, err)
	report, err := lint.Run(t.Context(), p, lint.Config{Root: root, TempDir: temp})
	require.NoError(t, err)
	assert.Empty(t, report.Findings)
	for _, dir := range []string{temp, root} {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		assert.Len(t, entries, map[string]int{temp: 0, root: 3}[dir])
	}
}

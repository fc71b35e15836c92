package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReviewingDiff holds that the command with which docs/cassettes.md reviews recordings shows nothing of one that was
// made anew of the same behaviour, and what changed of another.
func TestReviewingDiff(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/cassettes.md")
	require.NoError(t, err)
	review := regexp.MustCompile(`(?m)^git diff -I.*$`).Find(docs)
	require.NotNil(t, review)
	const playbook = `name: p
task: {prompt: Do it.}
variants: {a: {agent: {kind: fake-acp}}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`
	dir := project(t, playbook)
	run := func(name string, args ...string) string {
		t.Helper()
		c := exec.Command(name, args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	record := func() {
		t.Helper()
		out, err := command(dir, "run", "--playbook", "p.yaml", "--mode", "record").CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(".llman/\n"), 0o644))
	run("git", "init", "-q")
	record()
	run("git", "add", ".")
	run("git", "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-q", "-m", "record")

	record()
	require.Contains(t, run("git", "diff"), `-{"timings":`, "there is something to hide")
	require.Empty(t, run("sh", "-c", string(review)))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(strings.Replace(playbook, "Do it.", "Do it well.", 1)), 0o644))
	record()
	shown := run("sh", "-c", string(review))
	require.Contains(t, shown, `-{"event":"prompt","text":"Do it."}`)
	require.Contains(t, shown, `+{"event":"prompt","text":"Do it well."}`)
	require.NotContains(t, shown, "p.yaml", "it is of cassettes alone")
}

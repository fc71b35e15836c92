package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

// recordPlaybook has that many trials, each a unit that changes a file.
const recordPlaybook = `name: record
task: {prompt: Do it.}
trials: {count: %d}
variants: {a: {agent: {kind: fake-acp}}}
evaluators: [{type: files, expect: [{path: hello.txt, exists: true}]}]
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`

// TestSoakRecordTogether records many units at a time, and then few by several processes at once: every cassette is
// that of one of them.
func TestSoakRecordTogether(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name                       string
		units, parallel, processes int
	}{
		{"many units", soak.Size(32, 1000), 16, 1},
		{"processes", 4, 4, soak.Size(4, 16)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := project(t, fmt.Sprintf(recordPlaybook, tt.units))
			var wg sync.WaitGroup
			for range tt.processes {
				wg.Go(func() {
					parallel := fmt.Sprint(tt.parallel)
					out, err := command(dir, "run", "--playbook", "p.yaml", "--mode", "record",
						"--parallel", parallel).CombinedOutput()
					if err != nil {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
			wg.Wait()
			requireReplays(t, dir)
		})
	}
}

// TestSoakRecordKilled kills recordings at random moments: each cassette is whole, be it old or new. Any other file
// that is left is found to be an orphan.
func TestSoakRecordKilled(t *testing.T) {
	t.Parallel()
	dir := project(t, fmt.Sprintf(recordPlaybook, 4))
	whole := time.Now()
	record := func() *exec.Cmd {
		return command(dir, "run", "--playbook", "p.yaml", "--mode", "record", "--parallel", "4")
	}
	out, err := record().CombinedOutput()
	require.NoError(t, err, "%s", out)
	took := time.Since(whole)
	requireKillable(t, dir, record, took, soak.Size(5, 100))
}

// levelPlaybook has that many trials, in which the agent asks its client and an MCP server.
const levelPlaybook = `name: level
task: {prompt: 'stock count {"sku": "tea"}'}
trials: {count: %d}
cassette: {level: %s}
variants: {a: {agent: %s}}
mcp: [{name: stock, command: [mcp-stock]}]
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`

// TestSoakRecordLevels records units at the same time at the levels at which the agent runs in replay, twice: the
// cassettes do not differ. Then it kills recordings: the cassettes of before, or new ones, are whole.
func TestSoakRecordLevels(t *testing.T) {
	t.Parallel()
	for level, agent := range map[string]string{
		"client": "{kind: fake-acp}",
		"mcp":    "{kind: acp, command: mcp-agent}",
	} {
		t.Run(level, func(t *testing.T) {
			units := soak.Size(4, 20)
			dir := project(t, fmt.Sprintf(levelPlaybook, units, level, agent))
			record := func() *exec.Cmd {
				return command(dir, "run", "--playbook", "p.yaml", "--mode", "record", "--parallel", fmt.Sprint(units))
			}
			out, err := record().CombinedOutput()
			require.NoError(t, err, "%s", out)
			first := t.TempDir()
			require.NoError(t, os.CopyFS(first, os.DirFS(filepath.Join(dir, "cassettes"))))
			began := time.Now()
			out, err = record().CombinedOutput()
			require.NoError(t, err, "%s", out)
			took := time.Since(began)
			for trial := range units {
				name := fmt.Sprintf("p/task/a.%d.jsonl", trial+1)
				before, after := filepath.Join(first, name), filepath.Join("cassettes", name)
				out, err := command(dir, "cassette", "diff", before, after).CombinedOutput()
				require.NoError(t, err, "%s", out)
			}
			requireKillable(t, dir, record, took, soak.Size(1, 20))
		})
	}
}

// TestMigrateCommitted: normalising the recordings of this repository again does not change them.
func TestMigrateCommitted(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	out, err := command(root, "cassette", "migrate", "--all", "--dry-run").CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, "would migrate 0 recordings\n", string(out))
}

// requireKillable kills recordings at random moments while they take place.
func requireKillable(t *testing.T, dir string, record func() *exec.Cmd, took time.Duration, kills int) {
	t.Helper()
	for range kills {
		c := record()
		require.NoError(t, c.Start())
		killer := time.AfterFunc(rand.N(took), func() { _ = c.Process.Kill() })
		_ = c.Wait() // it may have ended before
		killer.Stop()
		out, _ := command(dir, "cassette", "verify", "p.yaml").Output()
		for _, kind := range []string{"missing", "stale", "corrupt"} {
			require.NotContains(t, string(out), kind)
		}
	}
	out, err := command(dir, "cassette", "prune", "p.yaml").CombinedOutput()
	require.NoError(t, err, "%s", out)
	requireReplays(t, dir)
}

// requireReplays requires that the project's playbook has its recordings and no others, and passes in replay.
func requireReplays(t *testing.T, dir string) {
	t.Helper()
	for _, args := range [][]string{
		{"cassette", "verify", "p.yaml"},
		{"run", "--playbook", "p.yaml", "--mode", "replay"},
	} {
		out, err := command(dir, args...).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// TestReviewingDiff holds that the command in docs/cassettes.md for reviewing recordings shows nothing if the same
// behaviour was recorded again, and otherwise what has changed.
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

	changed := strings.Replace(playbook, "Do it.", "Do it well.", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(changed), 0o644))
	record()
	shown := run("sh", "-c", string(review))
	require.Contains(t, shown, `-{"event":"prompt","text":"Do it."}`)
	require.Contains(t, shown, `+{"event":"prompt","text":"Do it well."}`)
	require.NotContains(t, shown, "p.yaml", "the diff is of cassettes alone")
}

package rundir

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// outcomesOf returns what a list shows of the project's only run.
func outcomesOf(t *testing.T, root string) map[result.Outcome]int {
	t.Helper()
	list, err := List(root)
	require.NoError(t, err)
	outcomes, err := list[0].Outcomes()
	require.NoError(t, err)
	return outcomes
}

// TestTotals: the manifest of a run that ended has its totals, and what was added or changed since is counted all the
// same.
func TestTotals(t *testing.T) {
	root := t.TempDir()
	run := newRun(t, root, demo(1))
	first, second := unit(run.Manifest().Units[0]), unit(run.Manifest().Units[1])
	require.NoError(t, run.Append(first))
	require.Equal(t, map[result.Outcome]int{first.Outcome: 1}, outcomesOf(t, root), "while it goes on")
	require.NoError(t, run.Finish(StateInterrupted))
	require.NoError(t, run.Close())
	require.Equal(t, map[result.Outcome]int{first.Outcome: 1}, run.Manifest().Totals.Outcomes)

	results := filepath.Join(run.Dir(), ResultsFile)
	written, err := os.ReadFile(results)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(results, bytes.Repeat([]byte("x"), len(written)), 0o644))
	require.Equal(t, map[result.Outcome]int{first.Outcome: 1}, outcomesOf(t, root), "the results are not read")
	require.NoError(t, os.WriteFile(results, nil, 0o644))
	require.Empty(t, outcomesOf(t, root), "somebody removed the line")
	require.NoError(t, os.WriteFile(results, written, 0o644))

	run, err = Resume(root, run.ID(), nil)
	require.NoError(t, err)
	require.Nil(t, run.Manifest().Totals, "it goes on")
	require.NoError(t, run.Append(second))
	require.NoError(t, run.Close()) // as if it was killed
	want := map[result.Outcome]int{first.Outcome: 2}
	require.Equal(t, want, outcomesOf(t, root))

	run, err = Resume(root, run.ID(), nil)
	require.NoError(t, err)
	require.NoError(t, run.Finish(StateFinished))
	require.NoError(t, run.Close())
	require.Equal(t, want, run.Manifest().Totals.Outcomes)
	require.Equal(t, want, outcomesOf(t, root))

	old := run.Manifest()
	old.Totals = nil
	data, err := old.encode(nil)
	require.NoError(t, err)
	require.NoError(t, writeFile(run.Dir(), manifestFile, data))
	require.Equal(t, want, outcomesOf(t, root), "a run of an earlier version")
}

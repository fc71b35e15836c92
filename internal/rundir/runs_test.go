package rundir

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// someRuns makes unlocked runs of the project, one a second, and returns their ids, the newest first.
func someRuns(t *testing.T, root string, count int) []string {
	t.Helper()
	ids := make([]string, count)
	for i := range count {
		m := demo(1)
		m.CreatedAt = m.CreatedAt.Add(time.Duration(i) * time.Second)
		run := newRun(t, root, m)
		require.NoError(t, run.Finish(StateFinished))
		require.NoError(t, run.Close())
		ids[count-1-i] = run.ID()
	}
	return ids
}

func listed(t *testing.T, root string) []string {
	t.Helper()
	list, err := List(root)
	require.NoError(t, err)
	var ids []string
	for _, s := range list {
		ids = append(ids, s.ID)
	}
	return ids
}

func TestList(t *testing.T) {
	root := t.TempDir()
	list, err := List(root)
	require.NoError(t, err)
	require.Empty(t, list, "there are no runs yet")

	old := someRuns(t, root, 2)
	m := demo(1)
	m.CreatedAt = m.CreatedAt.Add(time.Hour)
	run := newRun(t, root, m)
	require.NoError(t, run.Append(unit(m.Units[0])))
	runs := filepath.Dir(run.Dir())
	for _, name := range []string{"notes", ".new-" + old[0], "20260302-101500-"} { // no runs
		require.NoError(t, os.Mkdir(filepath.Join(runs, name), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(runs, "20260302-101500-file"), nil, 0o644))
	const broken = "20260302-101000-broken"
	require.NoError(t, os.Mkdir(filepath.Join(runs, broken), 0o755))

	list, err = List(root)
	require.NoError(t, err)
	require.Len(t, list, 4)
	require.Equal(t, Summary{
		ID: run.ID(), Dir: filepath.Join(root, runsDir, run.ID()), CreatedAt: m.CreatedAt, Name: "demo", Mode: "live",
		Playbook: m.Playbook.Path, State: StateRunning, Units: 4,
	}, list[0])
	require.Equal(t, old, []string{list[1].ID, list[2].ID})
	require.Equal(t, StateFinished, list[1].State)
	require.Equal(t, broken, list[3].ID)
	require.ErrorContains(t, list[3].Err, "manifest.json")
	require.Equal(t, time.Date(2026, 3, 2, 10, 10, 0, 0, time.UTC), list[3].CreatedAt)

	require.NoError(t, run.Close())
	list, err = List(root)
	require.NoError(t, err)
	require.Equal(t, StateInterrupted, list[0].State, "nobody holds it, and nobody finished it")
}

func TestClean(t *testing.T) {
	for keep := range 5 {
		t.Run(fmt.Sprint("keep ", keep), func(t *testing.T) {
			root := t.TempDir()
			all := someRuns(t, root, 3)
			removed, err := Clean(root, keep)
			require.NoError(t, err)
			kept := min(keep, len(all))
			require.ElementsMatch(t, all[kept:], removed)
			require.ElementsMatch(t, all[:kept], listed(t, root))
		})
	}
	root := t.TempDir()
	all := someRuns(t, root, 1)
	_, err := Clean(root, -1)
	require.ErrorContains(t, err, "cannot keep -1 runs")
	require.Equal(t, all, listed(t, root))
	removed, err := Clean(t.TempDir(), 0)
	require.NoError(t, err)
	require.Empty(t, removed, "there are no runs yet")
}

func TestCleanSweeps(t *testing.T) {
	root := t.TempDir()
	kept := someRuns(t, root, 1)[0]
	runs := filepath.Join(root, runsDir)
	held, err := tryLock(disk.Tree(root), runs, "20260302-101500-demo-held")
	require.NoError(t, err)
	defer func() { require.NoError(t, held.release()) }()
	for _, name := range []string{
		".new-20260302-101500-demo-dead/variants/a", ".old-20260302-101500-demo-dead", ".new-20260302-101500-demo-held",
		".mine",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(runs, name), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(runs, locksDir, "20260302-101500-demo-killed"), nil, 0o644))
	removed, err := Clean(root, 1)
	require.NoError(t, err)
	require.Empty(t, removed, "these are no runs")
	names := func(dir string) []string {
		entries, err := os.ReadDir(dir)
		require.NoError(t, err)
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	require.Equal(t, []string{".gitignore", locksDir, ".mine", ".new-20260302-101500-demo-held", kept}, names(runs))
	require.Equal(t, []string{"20260302-101500-demo-held"}, names(filepath.Join(runs, locksDir)))
}

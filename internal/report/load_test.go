package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

const runID = "20260302-101500-shop-k3v9qa"

// openRun returns a copy of testdata/run, a run made by hand: two variants, three cases, two trials, of which one must
// pass, and each outcome.
func openRun(t testing.TB) *rundir.Run {
	t.Helper()
	root := t.TempDir()
	dir := filepath.Join(root, ".llman", "sdd-eval", "runs", runID)
	require.NoError(t, os.MkdirAll(filepath.Dir(dir), 0o755))
	require.NoError(t, os.CopyFS(dir, os.DirFS("testdata/run")))
	run, err := rundir.Open(root, runID)
	require.NoError(t, err)
	return run
}

func load(t testing.TB, run *rundir.Run) *Report {
	t.Helper()
	rep, err := Load(run)
	require.NoError(t, err)
	return rep
}

// edit writes a file of the run.
func edit(t testing.TB, run *rundir.Run, name, text string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(run.Dir(), filepath.FromSlash(name)), []byte(text), 0o644))
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(file, got, 0o644))
		return
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err, "UPDATE_GOLDEN=1 go test . writes it")
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (-want +got):\n%s\nto accept: UPDATE_GOLDEN=1 go test ./internal/report -run '^%s$'", file, diff, t.Name())
	}
}

func TestGolden(t *testing.T) {
	rep := load(t, openRun(t))
	data, err := rep.JSON()
	require.NoError(t, err)
	golden(t, "report.json", data)
	golden(t, "report.md", rep.Markdown())
	data, err = rep.JUnit()
	require.NoError(t, err)
	golden(t, "report.junit.xml", data)
}

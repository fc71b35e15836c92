package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
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
	run, err := rundir.Open(root, runID, nil)
	require.NoError(t, err)
	return run
}

func loaded(t testing.TB, run *rundir.Run) *Report {
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
	rep := loaded(t, openRun(t))
	data, err := rep.JSON()
	require.NoError(t, err)
	golden(t, "report.json", data)
	golden(t, "report.md", rep.Markdown())
	data, err = rep.JUnit()
	require.NoError(t, err)
	golden(t, "report.junit.xml", data)
}

func TestLoadMissingArtifacts(t *testing.T) {
	run := openRun(t)
	require.NoError(t, os.Remove(filepath.Join(run.Dir(), "variants/sdd-claude/cases/refund/1/artifacts/workspace.diff")))
	rep := loaded(t, run)
	require.Equal(t, []string{"variants/sdd-claude/cases/refund/1/artifacts/workspace.diff"}, rep.Units[0].Missing)
	require.Contains(t, rep.Notes, "2 units of 12: artifacts are missing though the unit ran.")
}

func TestLoadBrokenArtifact(t *testing.T) {
	const artifacts = "variants/sdd-claude/cases/refund/1/artifacts/"
	tests := []struct{ name, file, text string }{
		{"torn trajectory", "trajectory.json", `{"agent":{},"events":[{"event":"mess`},
		{"unknown event", "trajectory.json", `{"agent":{},"events":[{"event":"dance","turn":1,"at_us":0}]}`},
		{"torn metrics", "acp-metrics.json", `{"version":1`},
		{"changes of a wrong type", "workspace-changes.json", `{"added":"two"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := openRun(t)
			edit(t, run, artifacts+tt.file, tt.text)
			_, err := Load(run)
			require.ErrorContains(t, err, "report on run "+runID)
			require.ErrorContains(t, err, filepath.FromSlash(artifacts+tt.file))
		})
	}
}

func TestLoadTakesMetricsFromArtifacts(t *testing.T) {
	run := openRun(t)
	results, err := os.ReadFile(filepath.Join(run.Dir(), "results.jsonl"))
	require.NoError(t, err)
	lines := strings.SplitAfter(string(results), "\n")
	var first map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[0]), &first))
	first["metrics"] = nil
	line, err := json.Marshal(first)
	require.NoError(t, err)
	edit(t, run, "results.jsonl", string(line)+"\n"+strings.Join(lines[1:], ""))
	want, err := loaded(t, openRun(t)).JSON()
	require.NoError(t, err)
	got, err := loaded(t, run).JSON()
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
}

func TestLoadInterruptedRun(t *testing.T) {
	run := openRun(t)
	results, err := os.ReadFile(filepath.Join(run.Dir(), "results.jsonl"))
	require.NoError(t, err)
	lines := strings.SplitAfter(string(results), "\n")
	edit(t, run, "results.jsonl", strings.Join(lines[:10], "")+lines[10][:40]) // killed in the middle of a line
	rep := loaded(t, run)
	require.Equal(t, NotRun, rep.Units[11].Outcome)
	require.Nil(t, rep.Units[11].Result)
	require.Equal(t, Counts{Fail: 1, Skip: 1, NotRun: 1}, rep.Variants[1].Cases)
	require.Contains(t, rep.Notes[0], "torn")
	require.Contains(t, string(rep.Markdown()), "2 of 2 not run")
	data, err := rep.JUnit()
	require.NoError(t, err)
	require.Contains(t, string(data), `<error message="0/2 trials, need 1; 2 of 2 not run" type="not_run">`)
}

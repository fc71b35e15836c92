package report

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

const runID = "20260302-101500-shop-k3v9qa"

// openRun returns a copy of testdata/run, a run that was written by hand. It has two variants, three cases, two trials,
// of which one must pass, and all outcomes.
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

func TestGolden(t *testing.T) {
	rep := loaded(t, openRun(t))
	data, err := rep.JSON()
	require.NoError(t, err)
	golden.Equal(t, "testdata/report.json", data)
	golden.Equal(t, "testdata/report.md", rep.Markdown())
	data, err = rep.JUnit()
	require.NoError(t, err)
	golden.Equal(t, "testdata/report.junit.xml", data)
}

func TestLoadMissingArtifacts(t *testing.T) {
	run := openRun(t)
	const missing = "variants/sdd-claude/cases/refund/1/artifacts/workspace.diff"
	require.NoError(t, os.Remove(filepath.Join(run.Dir(), missing)))
	rep := loaded(t, run)
	require.Equal(t, []string{missing}, rep.Units[0].Missing)
	require.Contains(t, rep.Notes, "2 units of 12: artifacts are missing although the unit ran.")
}

// TestLargeArtifact: an artifact that is too large to show is noted, and everything else is shown.
func TestLargeArtifact(t *testing.T) {
	const file = "variants/sdd-claude/cases/refund/1/artifacts/trajectory.json"
	run := openRun(t)
	path := filepath.Join(run.Dir(), filepath.FromSlash(file))
	require.NoError(t, os.Truncate(path, maxArtifact))
	_, err := loaded(t, run).HTML()
	require.ErrorContains(t, err, "trajectory.json: not a whole JSON object", "a file of this size is read")
	require.NoError(t, os.Truncate(path, maxArtifact+1))
	rep := loaded(t, run)
	want := file + " is too large to show (67108865 bytes)"
	require.Equal(t, []string{want}, rep.Units[0].TooLarge)
	require.Empty(t, rep.Units[0].Missing)
	require.Contains(t, rep.Notes, "1 unit of 12: artifacts are too large to show.")
	shown := unpack(t, rep)
	require.Equal(t, []any{want}, shown["too_large"])
	require.NotContains(t, shown, "run")
	require.NotEmpty(t, shown["diff"], "the unit's other artifacts are there")
	others := loaded(t, openRun(t))
	require.Equal(t, others.Units[1:], rep.Units[1:])
	require.Equal(t, others.Variants, rep.Variants)
}

// TestLongTrajectory: of a long trajectory the page has the first events and the beginnings of texts, and says so.
func TestLongTrajectory(t *testing.T) {
	const file = "variants/sdd-claude/cases/refund/1/artifacts/trajectory.json"
	run := openRun(t)
	event := `{"event":"message","turn":1,"text":"<` + strings.Repeat("x", 200) + `"}`
	long := `{"event":"message","turn":1,"text":"` + strings.Repeat("y", maxText+1) + `"}`
	text := "{\"agent\":{},\"events\":[\n" + long + strings.Repeat(",\n"+event, maxEvents+500-1) + "\n]}\n"
	edit(t, run, file, text)
	shown := unpack(t, loaded(t, run))
	require.Equal(t, []any{"500 events of 2,500", "the end of 1 text of more than 16.0 KiB"}, shown["cut"])
	var did struct{ Events []struct{ Text string } }
	require.NoError(t, json.Unmarshal(shown["run"].([]byte), &did))
	require.Len(t, did.Events, maxEvents)
	require.Contains(t, did.Events[0].Text, "yyy")
	require.Less(t, len(did.Events[0].Text), maxText+100)
	require.Equal(t, "<"+strings.Repeat("x", 200), did.Events[maxEvents-1].Text)
	for _, broken := range []string{
		text[:len(text)-len("]}\n")], text[:len(text)-1000], strings.Replace(text, long, long[:100], 1),
	} {
		edit(t, run, file, broken)
		_, err := loaded(t, run).HTML()
		require.ErrorContains(t, err, filepath.FromSlash(file)+": not a whole JSON object")
	}
}

// unpack returns what the page shows of the first unit.
func unpack(t *testing.T, rep *Report) (shown map[string]any) {
	t.Helper()
	details, err := rep.details()
	require.NoError(t, err)
	data, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, bytes.NewReader(details[0])))
	require.NoError(t, err)
	text, err := io.ReadAll(data)
	require.NoError(t, err)
	line, run, _ := bytes.Cut(text, []byte("\n"))
	require.NoError(t, json.Unmarshal(line, &shown))
	if len(run) > 0 {
		shown["run"] = run
	}
	return shown
}

// TestProblems: a run in which everything passed is an error in every format if it has problems as a whole.
func TestProblems(t *testing.T) {
	s := sample(t, 1, 1, 1)
	u := &s.units[0]
	u.Outcome = result.Pass
	u.Evaluations[0].Outcome, u.Evaluations[0].Reason, u.Evaluations[0].Detail = result.Pass, "", ""
	require.Equal(t, result.Pass, reportOf(t, s).Outcome)
	s.manifest.Problems = []string{"a secret was found in jobs.jsonl", "another <problem>"}
	rep := reportOf(t, s)
	require.Equal(t, result.Error, rep.Outcome)
	data, err := rep.JSON()
	require.NoError(t, err)
	golden.Equal(t, "testdata/problems.json", data)
	golden.Equal(t, "testdata/problems.md", rep.Markdown())
	data, err = rep.JUnit()
	require.NoError(t, err)
	golden.Equal(t, "testdata/problems.junit.xml", data)
	data, err = rep.HTML()
	require.NoError(t, err)
	require.Contains(t, string(data), `"outcome":"error","headline":"1 result (1 case × 1 variant): 1 passed. `+
		`The run as a whole has 2 problems."`)
	require.Contains(t, string(data), `"problem of the run as a whole: a secret was found in jobs.jsonl"`)
}

// TestBrokenArtifact: a trajectory that is not whole is an error of the page, which alone reads it.
func TestBrokenArtifact(t *testing.T) {
	const trajectory = "variants/sdd-claude/cases/refund/1/artifacts/trajectory.json"
	for name, text := range map[string]string{"torn": `{"agent":{},"events":[{"event":"mess`, "empty": ""} {
		t.Run(name, func(t *testing.T) {
			run := openRun(t)
			edit(t, run, trajectory, text)
			rep := loaded(t, run)
			_, err := rep.Write([]string{"md", "json", "junit"})
			require.NoError(t, err)
			_, err = rep.Write([]string{"html"})
			require.ErrorContains(t, err, runID)
			require.ErrorContains(t, err, filepath.FromSlash(trajectory))
		})
	}
}

func TestLoadInterruptedRun(t *testing.T) {
	run := openRun(t)
	results, err := os.ReadFile(filepath.Join(run.Dir(), "results.jsonl"))
	require.NoError(t, err)
	lines := strings.SplitAfter(string(results), "\n")
	edit(t, run, "results.jsonl", strings.Join(lines[:10], "")+lines[10][:40]) // killed in the middle of a line
	rep := loaded(t, run)
	require.Equal(t, result.NotRun, rep.Units[11].Outcome)
	require.Nil(t, rep.Units[11].Result)
	require.Equal(t, Counts{Fail: 1, Skip: 1, NotRun: 1}, rep.Variants[1].Cases)
	require.Contains(t, rep.Notes[0], "incomplete")
	require.Contains(t, string(rep.Markdown()), "2 of 2 not run")
	data, err := rep.JUnit()
	require.NoError(t, err)
	require.Contains(t, string(data), `<error message="0/2 trials, need 1; 2 of 2 not run" type="not_run">`)
}

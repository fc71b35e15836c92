package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// TestReportExits holds `report` to end with the code that says what the run came to, as `run` did, and what it wrote to say
// the same.
func TestReportExits(t *testing.T) {
	const pass, fail, broken, skip, completed, missing = result.Pass, result.Fail, result.Error, result.Skip, result.Completed, result.NotRun
	reports, ran := result.Job{Outcome: pass}, result.Job{Outcome: pass, Commands: 1}
	tests := []struct {
		name, reason string
		units        [2]result.Outcome
		job          result.Job
		state        rundir.State // empty: finished
		problems     []string
		want         result.Outcome
		code         int
	}{
		{name: "pass", units: [2]result.Outcome{pass, pass}, job: reports, want: pass, code: exitOK},
		{name: "fail", units: [2]result.Outcome{pass, fail}, job: reports, want: fail, code: exitFailed},
		{name: "error", units: [2]result.Outcome{pass, broken}, job: reports, want: broken, code: exitHarness},
		{name: "error and fail", reason: "error comes before failure", units: [2]result.Outcome{fail, broken}, job: reports, want: broken, code: exitHarness},
		{name: "some skipped", units: [2]result.Outcome{skip, pass}, job: reports, want: pass, code: exitOK},
		{name: "all skipped", reason: "it would look like success", units: [2]result.Outcome{skip, skip}, job: reports, want: broken, code: exitHarness},
		{name: "all skipped but a command", units: [2]result.Outcome{skip, skip}, job: ran, want: completed, code: exitOK},
		{name: "unjudged", units: [2]result.Outcome{completed, completed}, job: reports, want: completed, code: exitOK},
		{name: "pass and completed", reason: "what nothing judged is no pass", units: [2]result.Outcome{pass, completed}, job: ran, want: completed, code: exitOK},
		{name: "pass, job skipped", units: [2]result.Outcome{pass, pass}, job: result.Job{Outcome: skip}, want: pass, code: exitOK},
		{name: "pass, job failed", units: [2]result.Outcome{pass, pass}, job: result.Job{Outcome: fail, Commands: 1}, want: fail, code: exitFailed},
		{name: "pass, job broke", units: [2]result.Outcome{pass, pass}, job: result.Job{Outcome: broken}, want: broken, code: exitHarness},
		{name: "skipped, job failed", units: [2]result.Outcome{skip, skip}, job: result.Job{Outcome: fail, Commands: 1}, want: fail, code: exitFailed},
		{name: "interrupted", units: [2]result.Outcome{pass, missing}, job: reports, state: rundir.StateInterrupted, want: missing, code: exitHarness},
		{name: "not run", reason: "a test with -run leaves some out", units: [2]result.Outcome{pass, missing}, job: reports, want: missing, code: exitHarness},
		{name: "job not run", units: [2]result.Outcome{pass, pass}, job: result.Job{Outcome: missing}, want: missing, code: exitHarness},
		{
			name: "interrupted after the last of it", reason: "nobody knows what was still to come", units: [2]result.Outcome{pass, pass},
			job: reports, state: rundir.StateInterrupted, want: missing, code: exitHarness,
		},
		{name: "problem", units: [2]result.Outcome{pass, pass}, job: reports, problems: []string{"a secret was found"}, want: broken, code: exitHarness},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := projectDir(t)
			run := endedRun(t, dir, tt.units, tt.job, tt.state, tt.problems)
			got := call(t, dir, "report", "--run", "latest")
			require.Equal(t, tt.code, got.code, "%s\n%s", tt.reason, got.stderr)
			require.Contains(t, got.stdout, filepath.Join(run, "report.junit.xml"), "the reports are there whatever they say")
			require.Equal(t, tt.code == exitOK, got.stderr == "", got.stderr)
			data, err := os.ReadFile(filepath.Join(run, "report.json"))
			require.NoError(t, err)
			var rep struct{ Outcome result.Outcome }
			require.NoError(t, json.Unmarshal(data, &rep))
			require.Equal(t, tt.want, rep.Outcome, tt.reason)

			got = call(t, dir, "report", "--run", "latest", "--format", "github")
			require.Equal(t, exitOK, got.code, "it tells of what has failed already")
			require.Equal(t, tt.code == exitOK, got.stdout == "", got.stdout)
		})
	}
}

// endedRun makes a run of two cases with evaluators and a job, and returns its directory.
func endedRun(t *testing.T, dir string, units [2]result.Outcome, job result.Job, state rundir.State, problems []string) string {
	t.Helper()
	at := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	m := rundir.Manifest{
		CreatedAt: at, Name: "shop", Mode: "live", Sandbox: "none", Variants: []rundir.Variant{{ID: "a"}},
		Cases: []rundir.Case{{ID: "one"}, {ID: "two"}}, Trials: 1, Need: 1, Units: []string{"shop/one/a/1", "shop/two/a/1"},
		Jobs: []string{"job"}, Evaluators: true,
	}
	r, err := rundir.Create(dir, m, []byte(validPlaybook), new(secret.Set))
	require.NoError(t, err)
	for i, o := range units {
		if o == result.NotRun {
			continue
		}
		u := result.Unit{ID: m.Units[i], Case: m.Cases[i].ID, Variant: "a", Trial: 1, Outcome: o, Started: at}
		if o != result.Completed {
			u.Evaluations = []result.Evaluation{{Name: "judge", Outcome: o}}
		}
		require.NoError(t, r.Append(u))
	}
	if job.Outcome != result.NotRun {
		job.ID, job.Started = "job", at
		require.NoError(t, r.AppendJob(job))
	}
	if state == "" {
		state = rundir.StateFinished
	}
	require.NoError(t, r.Finish(state, problems...))
	require.NoError(t, r.Close())
	return r.Dir()
}

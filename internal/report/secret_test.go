package report

import (
	"encoding/json"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/secrettest"
)

// TestNoFaceShowsSecrets says a secret in every text of a run's units and jobs, before anything masked it, and searches
// what is written of the run and printed.
func TestNoFaceShowsSecrets(t *testing.T) {
	const canary = "sk-" + `test-"canary"<&>'0123456789`
	texts := []string{canary, canary[:14], canary[14:]}
	secrets := new(secret.Set)
	secrets.Mark("CANARY", canary)
	s := sample(t, 1, 1, 1)
	m := s.manifest
	m.RunID, m.State, m.FinishedAt = "", "", nil
	m.Jobs, m.Cases[0].Variants = []string{"build"}, []string{m.Variants[0].ID}
	m.Judges = map[string][]string{m.Cases[0].ID: {s.units[0].Evaluations[0].Name}}
	run, err := rundir.Create(t.TempDir(), m, []byte("name: shop\n"), secrets)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, run.Close()) })

	u := s.units[0]
	id, caseID, variant, judge := u.ID, u.Case, u.Variant, u.Evaluations[0].Name
	u.Outcome, u.Warnings, u.Attempts, u.Modes = result.Fail, []string{"x"}, []string{"x"}, []string{"x"}
	u.Evaluations[0].Outcome, u.Steps[0].Outcome = result.Fail, result.Fail
	poison(reflect.ValueOf(&u).Elem(), "says "+canary)
	u.ID, u.Case, u.Variant, u.Evaluations[0].Name = id, caseID, variant, judge
	dirs, err := run.MakeUnitDirs(u.Case, u.Variant, u.Trial)
	require.NoError(t, err)
	events := trajectory.Run{Cwd: canary, Events: []trajectory.Event{{Turn: 1, Body: trajectory.Message{Text: canary}}}}
	for name, v := range map[string]any{rundir.Metrics: u.Metrics, rundir.Trajectory: &events} {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.NoError(t, secrets.WriteFile(filepath.Join(dirs.Artifacts, name), data, 0o600))
	}
	require.NoError(t, secrets.WriteFile(filepath.Join(dirs.Artifacts, rundir.Diff), []byte("+"+canary), 0o600))
	require.NoError(t, run.Append(u))
	j := result.Job{ID: "build", Outcome: result.Fail, Steps: []result.Step{{Outcome: result.Fail}}}
	poison(reflect.ValueOf(&j).Elem(), "says "+canary)
	j.ID = "build"
	require.NoError(t, run.AppendJob(j))
	require.NoError(t, run.Finish(rundir.StateFinished, "problem: "+canary))

	files, err := loaded(t, run).Write(Usual())
	require.NoError(t, err)
	require.Len(t, files, len(Usual()))
	found, err := secrettest.ScanDir(run.Dir(), texts...)
	require.NoError(t, err)
	require.Empty(t, found)
	rep := loaded(t, run)
	require.Empty(t, secrettest.Scan(string(rep.Annotations(".")), texts...))
	require.Contains(t, string(rep.Annotations(".")), "says [REDACTED:CANARY]")
	require.Empty(t, secrettest.Scan(string(rep.Summary(1<<20)), texts...))
}

package livetest

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// outcome is what is known of a unit that ended, without when that was and how long it took to judge.
type outcome struct {
	Outcome     result.Outcome
	Stop        string
	Evaluations []result.Evaluation
	Trajectory  string            // whole, with its times
	Workspace   map[string]string // contents by path
}

// sameOutcomes expects that the runs kept below two directories came to the same: outcomes, scores, reasons,
// trajectories and workspaces.
func sameOutcomes(t *testing.T, a, b string) {
	t.Helper()
	x, y := outcomes(t, a), outcomes(t, b)
	require.NotEmpty(t, x)
	require.Len(t, y, len(x))
	for id := range x {
		require.Equal(t, x[id], y[id], id)
	}
}

// outcomes returns how the units of the runs below a directory ended, by their ids.
func outcomes(t *testing.T, dir string) map[string]outcome {
	t.Helper()
	runs, err := os.ReadDir(filepath.Join(dir, ".llman/sdd-eval/runs"))
	require.NoError(t, err)
	all := make(map[string]outcome)
	for _, e := range runs {
		if e.Name()[0] == '.' {
			continue
		}
		run, err := rundir.Open(dir, e.Name(), nil)
		require.NoError(t, err)
		units, err := run.Units()
		require.NoError(t, err)
		for _, u := range units {
			place := run.UnitDirs(u.Case, u.Variant, u.Trial)
			trajectory, err := os.ReadFile(filepath.Join(place.Artifacts, "trajectory.json"))
			require.NoError(t, err)
			o := outcome{u.Outcome, u.Stop, u.Evaluations, string(trajectory), filesOf(t, workspaceOf(t, run, place))}
			for i := range o.Evaluations {
				o.Evaluations[i].Duration = 0
			}
			all[u.ID] = o
		}
	}
	return all
}

// workspaceOf returns the directory with the workspace that a unit left. A replay keeps how it differs from its
// template.
func workspaceOf(t *testing.T, run *rundir.Run, place rundir.UnitDirs) string {
	t.Helper()
	kept, err := os.ReadFile(filepath.Join(place.Artifacts, rundir.Workspace))
	if errors.Is(err, fs.ErrNotExist) {
		return place.Workspace
	}
	require.NoError(t, err)
	digest, err := workspace.KeptTemplate(kept)
	require.NoError(t, err)
	list, err := run.ReadFile(rundir.TemplateList(digest), 1<<30)
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "workspace")
	require.NoError(t, workspace.Rebuild(t.Context(), filepath.Join("..", ".."), list, kept, dir))
	return dir
}

// filesOf returns the contents of the files of a workspace, by path. What is in .git differs by the time of its commit.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && e.Name() == ".git":
			return fs.SkipDir
		case !e.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		files[name] = string(bytes.ToValidUTF8(data, nil))
		return err
	}))
	return files
}

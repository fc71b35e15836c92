package evaltest_test

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// TestFaces holds go test and `sdd-eval run` to the same outcome for every scenario: both carry plans out by the same
// engine, and what one refuses, the other refuses.
func TestFaces(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	suite := m.compile("./evals")
	out, code := suite.test([]string{"EVALTEST_MODE=record"})
	require.Zero(t, code, out)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	f := faces{suite: suite, command: filepath.Join(t.TempDir(), "sdd-eval")}
	out, code = module{t, root}.run(nil, "go", "build", "-o", f.command, "./cmd/sdd-eval")
	require.Zero(t, code, out)

	t.Run("the command does not finish a test's run", func(t *testing.T) {
		project := suite.in(t)
		out, code := project.test([]string{"EVALTEST_RUN_DIR=" + project.dir})
		require.Zero(t, code, out)
		out, code = project.run(nil, f.command, "run", "--resume", "latest", "--root", ".")
		require.Equal(t, 2, code, out)
		require.Contains(t, out,
			"was made by go test, and this command does not have the test's checks in Go: run the test again")
	})
	for _, tt := range scenarios {
		t.Run(tt.name, func(t *testing.T) {
			if tt.testsOnly != "" {
				t.Log(tt.testsOnly)
				return
			}
			t.Parallel()
			project := suite.in(t)
			if tt.breaks != nil {
				tt.breaks(project.module)
			}
			f.compare(t, tt.reason, project, "evals/greet.yaml", tt.env)
		})
	}
	for _, s := range falseGreens(t) {
		t.Run("false-green/"+s.Name, func(t *testing.T) {
			if len(s.NotIn) > 0 {
				t.Log(s.NotIn)
				return
			}
			t.Parallel()
			project := module{t, t.TempDir()}
			require.NoError(t, os.CopyFS(project.dir, os.DirFS(filepath.Join(falseGreenDir, s.Name))))
			project.write("go.mod", "module example.com/shop\n")
			env := append([]string{"EVALTEST_SANDBOX=none", "EVALTEST_MODE=" + s.Mode}, s.Env...)
			f.compare(t, s.Reason, suiteBinary{project, suite.bin, "."}, cmp.Or(s.File, "suite.yaml"), env)
		})
	}
}

// faces are the two ways to run a playbook.
type faces struct {
	suite   suiteBinary
	command string // sdd-eval
}

// face is what one of them has found out.
type face struct {
	Green bool
	Units []result.Unit
	Jobs  []result.Job
}

// compare runs a project's playbook in both ways.
func (f faces) compare(t *testing.T, reason string, project suiteBinary, playbook string, env []string) {
	t.Helper()
	kept := t.TempDir()
	out, code := project.test(append(env, "EVALTEST_RUN_DIR="+kept))
	tested := faceOf(t, kept, code)

	mode := "replay"
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "EVALTEST_MODE="); ok {
			mode = value
		}
	}
	printed, code := project.run(env, f.command, "run", "--playbook", playbook, "--root", ".", "--mode", mode)
	ran := faceOf(t, project.dir, code)
	if d := gocmp.Diff(tested, ran); d != "" {
		t.Errorf("%s (-go test +sdd-eval run):\n%s\ngo test:\n%s\nsdd-eval run:\n%s", reason, d, out, printed)
	}
}

// faceOf reads what was kept of a run below a directory, without times, paths and commands. Nothing is kept of what was
// refused.
func faceOf(t *testing.T, below string, code int) face {
	t.Helper()
	f := face{Green: code == 0}
	dirs, err := filepath.Glob(filepath.Join(below, ".llman", "sdd-eval", "runs", "2*"))
	require.NoError(t, err)
	if len(dirs) == 0 {
		return f
	}
	require.Len(t, dirs, 1)
	run, err := rundir.Open(below, filepath.Base(dirs[0]), new(secret.Set))
	require.NoError(t, err)
	defer run.Close()
	f.Units, err = run.Units()
	require.NoError(t, err)
	f.Jobs, err = run.Jobs()
	require.NoError(t, err)
	for i, u := range f.Units {
		f.Units[i] = result.Unit{
			ID: u.ID, Outcome: u.Outcome, Reason: u.Reason, Stop: u.Stop, Steps: timeless(u.Steps),
			Evaluations: u.Evaluations, Warnings: u.Warnings, Attempts: u.Attempts, Session: u.Session,
			Replayed: u.Replayed, Endpoint: u.Endpoint,
		}
		for j := range u.Evaluations {
			u.Evaluations[j].Duration = 0
		}
	}
	for i, j := range f.Jobs {
		f.Jobs[i] = result.Job{ID: j.ID, Outcome: j.Outcome, Reason: j.Reason, Steps: timeless(j.Steps)}
	}
	return f
}

func timeless(steps []result.Step) []result.Step {
	for i := range steps {
		steps[i].Duration = 0
		if steps[i].Command != nil {
			steps[i].Command.Duration = nil
		}
	}
	return steps
}

package evaltest_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/report"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// TestRunDir keeps a suite's run as the command would: it can be shown and reported.
func TestRunDir(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	suite := m.compile("./evals")
	root := t.TempDir()
	out, code := suite.test([]string{"EVALTEST_MODE=record", "EVALTEST_RUN_DIR=" + root}, "-test.v")
	require.Zero(t, code, out)
	require.Contains(t, out, "run directory: "+filepath.Join(root, ".llman", "sdd-eval", "runs"))

	runs, err := rundir.List(root)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	require.Equal(t, rundir.StateFinished, runs[0].State)
	r, err := rundir.Open(root, runs[0].ID, nil)
	require.NoError(t, err)
	units, err := r.Units()
	require.NoError(t, err)
	require.Len(t, units, 1)
	require.Equal(t, result.Pass, units[0].Outcome)
	require.FileExists(t, filepath.Join(r.UnitDirs("hello", "fake", 1).Workspace, "greeting.txt"))
	archived, err := r.ReadFile("playbook.yaml", 1<<20)
	require.NoError(t, err)
	require.Equal(t, m.read("evals/greet.yaml"), string(archived))
	rep, err := report.Load(r)
	require.NoError(t, err)
	_, err = rep.Write(slices.DeleteFunc(report.Names(), func(name string) bool { return name == report.SkillCreator }))
	require.NoError(t, err)
	_, err = rep.Write([]string{report.SkillCreator})
	require.ErrorIs(t, err, report.ErrNotOfSkill)

	out, code = suite.test([]string{"EVALTEST_RUN_DIR=runs"})
	require.NotZero(t, code, out)
	require.Contains(t, out, "the path must be absolute")
	_, err = os.Stat(m.path("evals/runs"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestRunDirOfWrongTracing runs nothing where traces are wanted and cannot be sent.
func TestRunDirOfWrongTracing(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.replace("evals/evals_test.go", "evaltest\"\n)",
		"evaltest\"\n\t_ \"github.com/sdd-eval/sdd-eval/evaltest/tracing\"\n)")
	m.write("evals/agent_test.go", `package evals

import (
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/playbook"
)

func TestAgent(t *testing.T) {
	agent := playbook.Agent{Kind: "fake-acp", Args: []string{"../scripts/greet.json"}}
	evaltest.RunAgent(t, evaltest.AgentRun{ID: "agent", Agent: agent, Prompt: "Say hello."})
}
`)
	suite := m.compile("./evals")
	for _, test := range []string{"TestEvals", "TestAgent"} {
		t.Run(test, func(t *testing.T) {
			root := t.TempDir()
			env := []string{"EVALTEST_MODE=record", "EVALTEST_RUN_DIR=" + root, "OTEL_EXPORTER_OTLP_ENDPOINT=::bad"}
			out, code := suite.test(env, "-test.run=^"+test+"$")
			require.NotZero(t, code, out)
			require.Contains(t, out, "OTEL_EXPORTER_OTLP_ENDPOINT")
			manifests, err := filepath.Glob(filepath.Join(root, ".llman", "sdd-eval", "runs", "*", "manifest.json"))
			require.NoError(t, err)
			require.Empty(t, manifests, "nothing was run")
		})
	}
}

package evaltest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRunIsReleased keeps nothing of what an agent did once its unit has ended, although its case goes on.
func TestRunIsReleased(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.write("evals/greet.yaml", m.read("evals/greet.yaml")+"trials: {count: 3}\n")
	m.write("evals/evals_test.go", `package evals

import (
	"runtime"
	"strings"
	"testing"
	"weak"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

func TestEvals(t *testing.T) {
	var first weak.Pointer[trajectory.Run]
	evaltest.Describe(t, "*.yaml", evaltest.Check("released", func(t *evaltest.T, u evaltest.Unit) {
		switch {
		case strings.HasSuffix(u.ID, "/1"):
			first = weak.Make(u.Run)
		case strings.HasSuffix(u.ID, "/3"):
			runtime.GC()
			if run := first.Value(); run != nil {
				t.Errorf("the first trial's run is still there, with %d events", len(run.Events))
			}
		}
	}))
}
`)
	suite := m.compile("./evals")
	out, code := suite.test([]string{"EVALTEST_MODE=record", "EVALTEST_PARALLEL=1"})
	require.Zero(t, code, out)
	out, code = suite.test([]string{"EVALTEST_PARALLEL=1"}, "-test.v")
	require.Zero(t, code, out)
	require.Contains(t, out, "greet/hello/fake/released")
}

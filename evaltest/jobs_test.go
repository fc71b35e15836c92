package evaltest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestJobs runs jobs outside the matrix before and after the units. What a filter leaves out of the tests is still what
// the units build on.
func TestJobs(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.replace("evals/greet.yaml", "  jobs:\n    eval:\n", `  jobs:
    setup:
      steps: [{name: setup, run: go version}]
    publish:
      needs: [eval]
      steps: [{name: publish, run: go version}]
    eval:
      needs: [setup]
`)
	suite := m.compile("./evals")
	out, code := suite.test([]string{"EVALTEST_MODE=record"}, "-test.v")
	require.Zero(t, code, out)
	require.Contains(t, out, "--- PASS: TestEvals/greet/jobs/setup")
	require.Contains(t, out, "--- PASS: TestEvals/greet/jobs/publish")

	filter := "-test.run=^TestEvals$/^greet$/^hello$"
	out, code = suite.test(nil, "-test.v", filter)
	require.Zero(t, code, out)

	m.replace("evals/greet.yaml", "{name: setup, run: go version}", "{name: setup, run: go no-such-command}")
	for name, args := range map[string][]string{"all": nil, "filtered": {filter}} {
		out, code = suite.test(nil, append(args, "-test.v")...)
		require.NotZero(t, code, "%s: %s", name, out)
		require.Contains(t, out, `step "setup": go no-such-command: exit code 2`, name)
		require.Contains(t, out, "needs job setup, which did not pass", name)
		require.Contains(t, out, "--- SKIP: TestEvals/greet/hello/fake", name)
	}

	m.replace("evals/greet.yaml", "{name: setup, run: go no-such-command}", "{name: setup, run: go version}")
	m.replace("evals/greet.yaml", "contains: Hello", "contains: Goodbye")
	out, code = suite.test(nil, "-test.v")
	require.NotZero(t, code, out)
	require.Contains(t, out, "needs job eval, which did not pass", "nothing is published of a failed eval")
}

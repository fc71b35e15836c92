package evaltest_test

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// TestCheck runs expectations that are written in Go.
func TestCheck(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	out, code := m.compile("./evals").test([]string{"EVALTEST_MODE=record"})
	require.Zero(t, code, out)
	suite := m.compileHere("./checks")

	out, code = suite.test(nil, "-test.run=TestPass", "-test.v")
	require.Zero(t, code, out)
	golden.Equal(t, "testdata/checks/pass.txt", out)

	out, code = suite.test(nil, "-test.run=TestFail")
	require.NotZero(t, code, out)
	golden.Equal(t, "testdata/checks/fail.txt", out)

	out, code = suite.test(nil, "-test.run=TestPanic")
	require.NotZero(t, code, out)
	require.Contains(t, out, "greet/hello/fake/panics: ERROR")
	require.Contains(t, out, "panic: oh no")
	require.Contains(t, out, "checks_test.go:", "the trace names the place")

	out, code = suite.test(nil, "-test.run=TestGoexit")
	require.NotZero(t, code, out)
	require.Contains(t, out, "the check ended its goroutine (runtime.Goexit), and neither failed nor finished")

	out, code = suite.test(nil, "-test.run=TestSameName")
	require.NotZero(t, code, out)
	require.Contains(t, out, `has an evaluator "greets" already: choose another name`)

	out, code = suite.test(nil, "-test.run=TestOverride$")
	require.Zero(t, code, out)

	out, code = suite.test(nil, "-test.run=TestOverrideUnused")
	require.NotZero(t, code, out)
	require.Contains(t, out,
		"checks/checks_test.go:84: the override of call 2 of Write was not used: "+
			"the agent made no such call, or another override answers the call")

	out, code = suite.test(nil, "-test.run=TestOverrideOfNothing")
	require.NotZero(t, code, out)
	require.Contains(t, out,
		"checks/checks_test.go:88: override of Write: an override needs either an output or an error")

	out, code = suite.test(nil, "-test.run=TestNoFunction|TestNoName|TestPass", "-test.v")
	require.NotZero(t, code, out)
	require.Contains(t, out,
		`evaltest.Describe: checks/checks_test.go:92: evaltest.Check: check "empty" has no function`)
	require.Contains(t, out, "evaltest.Describe: checks/checks_test.go:96: evaltest.Check: a check needs a name")
	require.Contains(t, out, "--- PASS: TestPass", "the others run")

	out, code = suite.test(nil, "-test.run=TestLate")
	require.NotZero(t, code, out)
	require.Contains(t, out, `panic: evaltest.Check: a goroutine reported after check "hasty" had returned: too late`)
}

// TestCheckGoroutines has goroutines report at the same time, for the race detector.
func TestCheckGoroutines(t *testing.T) {
	t.Setenv("EVALTEST_MODE", "live")
	t.Setenv("EVALTEST_SANDBOX", "none")
	evaltest.Describe(t, "testdata/levels/client.yaml",
		evaltest.Check("together", func(t *evaltest.T, _ evaltest.Unit) {
			var all sync.WaitGroup
			for range 4 {
				all.Go(func() {
					t.Log("told")
					assert.False(t, t.Failed())
				})
			}
			all.Wait()
		}))
}

// TestMisuse has the compiler find what cannot be meant, in a user's module.
func TestMisuse(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	const head = `package misuse

import (
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
)

func TestMisuse(t *testing.T) {
`
	tests := []struct{ name, body, want string }{
		{
			"a scorer of agents in a suite of numbers",
			"evaltest.Suite[int, int, int]{Scorers: []evaltest.Scorer[int, int, int]{evaltest.Completion()}}.Run(t)",
			"cannot use evaltest.Completion()",
		},
		{
			"scorers of two types, weighted",
			`evaltest.Weighted("both", evaltest.Completion(), evaltest.Scorer[string, int, int]{})`,
			"does not match inferred type",
		},
		{
			"a check in a suite",
			`evaltest.AgentSuite{}.Run(t, evaltest.Check("says", func(*evaltest.T, evaltest.Unit) {}))`,
			"too many arguments in call",
		},
		{
			"a check of a run",
			`evaltest.RunAgent(t, evaltest.AgentRun{}, evaltest.Check("says", func(*evaltest.T, evaltest.Unit) {}))`,
			"too many arguments in call",
		},
		{
			"a row of another suite",
			"evaltest.AgentSuite{Data: []evaltest.Row[string, int]{{ID: \"a\"}}}.Run(t)",
			"cannot use []evaltest.Row[string, int]",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m.write("misuse/misuse_test.go", head+"\t"+tt.body+"\n}\n")
			out, code := m.run(nil, "go", "vet", "./misuse")
			require.NotZero(t, code)
			require.Contains(t, out, tt.want)
		})
	}
}

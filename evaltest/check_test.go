package evaltest_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCheck runs expectations that are written in Go.
func TestCheck(t *testing.T) {
	m := newModule(t)
	out, code := m.compile("./evals").test([]string{"EVALTEST_MODE=record"})
	require.Zero(t, code, out)
	suite := m.compile("./checks")

	out, code = suite.test(nil, "-test.run=TestPass", "-test.v")
	require.Zero(t, code, out)
	golden(t, "testdata/checks/pass.txt", out)

	out, code = suite.test(nil, "-test.run=TestFail")
	require.NotZero(t, code, out)
	golden(t, "testdata/checks/fail.txt", out)

	out, code = suite.test(nil, "-test.run=TestPanic")
	require.NotZero(t, code, out)
	require.Contains(t, out, "greet/hello/fake/panics: ERROR")
	require.Contains(t, out, "panic: oh no")
	require.Contains(t, out, "checks_test.go:", "the trace names the place")

	out, code = suite.test(nil, "-test.run=TestSameName")
	require.NotZero(t, code, out)
	require.Contains(t, out, `has an evaluator "greets" already: choose another name`)
}

// TestTrials holds a variant to the playbook's rule: two of three trials have to pass.
func TestTrials(t *testing.T) {
	m := newModule(t)
	m.write("evals/greet.yaml", m.read("evals/greet.yaml")+"trials: {count: 3, pass: 2}\n")
	suite := m.compile("./evals")
	out, code := suite.test([]string{"EVALTEST_MODE=record"})
	require.Zero(t, code, out)

	spoil := func(trial string) { // the agent does something else in this trial
		script := m.read("scripts/greet.json")
		m.replace("scripts/greet.json", `"name": "Read"`, `"name": "Glance"`)
		m.remove("cassettes/evals/greet/hello/fake." + trial + ".jsonl")
		suite.test([]string{"EVALTEST_MODE=missing"})
		m.write("scripts/greet.json", script)
	}
	spoil("2")
	out, code = suite.test(nil, "-test.v")
	require.Zero(t, code, out)
	golden(t, "testdata/trials/two-of-three.txt", out)

	cassette := "cassettes/evals/greet/hello/fake.3.jsonl"
	text := m.read(cassette)
	m.remove(cassette)
	out, code = suite.test(nil)
	require.NotZero(t, code, out, "two judged trials, one of them passed: nobody knows")
	golden(t, "testdata/trials/unknown.txt", out)
	m.write(cassette, text)

	spoil("3")
	out, code = suite.test(nil)
	require.NotZero(t, code, out)
	golden(t, "testdata/trials/one-of-three.txt", out)

	m.remove("cassettes/evals/greet/hello/fake.1.jsonl")
	out, code = suite.test(nil)
	require.NotZero(t, code, out, "an error is no failed trial: nothing is known of it")
	golden(t, "testdata/trials/error.txt", out)
}

// TestStepsAroundTheAgent has commands change the workspace before, between and after the agent's turns: a replay makes
// their changes by running them again, and those of the agent from the cassette.
func TestStepsAroundTheAgent(t *testing.T) {
	m := newModule(t)
	m.replace("evals/greet.yaml", "        - uses: builtin:sdd-eval/acp.prompt\n", `        - run: go mod init example.com/before
        - uses: builtin:sdd-eval/acp.prompt
        - run: go mod edit -module example.com/after
        - uses: builtin:sdd-eval/acp.prompt
        - run: go list -m
`)
	m.replace("scripts/greet.json", `{
  "turns": [`, `{
  "repeat": true,
  "turns": [`)
	m.write("evals/greet.yaml", m.read("evals/greet.yaml")+"  - {name: module, type: files, expect: [{path: go.mod, contains: module example.com/after}]}\n")
	suite := m.compile("./evals")
	out, code := suite.test([]string{"EVALTEST_MODE=record"})
	require.Zero(t, code, out)
	require.NotContains(t, m.read(shopCassette), "go.mod", "what the steps did is none of the agent's")
	for range 2 {
		out, code = suite.test(nil)
		require.Zero(t, code, out)
	}
}

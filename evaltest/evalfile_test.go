package evaltest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// TestEvalFile runs an eval file as Describe runs playbooks: recorded, replayed, and red where an expectation is not
// met.
func TestEvalFile(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.remove("evals/greet.yaml")
	m.write("evals/greet.eval.yaml", `evalcases:
  - id: hello
    question: Write a greeting.
    execution:
      target: first
      evaluators: [{name: greets, type: files, expect: [{path: greeting.txt, contains: Hello}]}]
  - id: dialogue
    input_messages: [{role: user, content: Write a greeting.}, {role: user, content: "Which file did you write?"}]
    execution: {target: second}
variants:
  first: {agent: {kind: fake-acp, args: [../scripts/greet.json]}}
  second: {agent: {kind: fake-acp, args: [../scripts/greet.json]}}
  third: {agent: {kind: fake-acp}} # the target of no case
execution:
  evaluators: [{name: looks-first, type: tool_trajectory, mode: in_order, expected: [{tool: Read}, {tool: Write}]}]
workspace: {from: ../fixtures/shop}
`)
	suite := m.compile("./evals")
	out, code := suite.test([]string{"EVALTEST_MODE=record"})
	require.Zero(t, code, out)
	for _, name := range []string{"hello/first.1", "dialogue/second.1"} {
		require.FileExists(t, m.path("cassettes/evals/greet.eval/"+name+".jsonl"))
	}
	require.NoFileExists(t, m.path("cassettes/evals/greet.eval/dialogue/first.1.jsonl"), "it is no target of the case")

	out, code = suite.test(nil, "-test.v")
	require.Zero(t, code, out)
	golden.Equal(t, "testdata/evalfile/replay.txt", out)

	m.replace("evals/greet.eval.yaml", "contains: Hello", "contains: Goodbye")
	out, code = suite.test(nil)
	require.NotZero(t, code, out)
	golden.Equal(t, "testdata/evalfile/fails.txt", out)

	m.replace("evals/greet.eval.yaml", "target: second", "target: secnod")
	out, code = suite.test(nil)
	require.NotZero(t, code, out)
	golden.Equal(t, "testdata/evalfile/target-misspelt.txt", out)
}

package evaltest_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// meets is a suite of four units whose agents all wait until that many have come, and would wait for ever otherwise.
func meets(t *testing.T, parallel int, key string) suiteBinary {
	t.Helper()
	suite := newModule(t).compile("./evals").in(t)
	place := t.TempDir()
	wait := fmt.Sprintf("touch %[1]s/$$; while [ $(ls %[1]s | wc -l) -lt %[2]d ]; do sleep 0.01; done", place, parallel)
	suite.write("scripts/greet.json", fmt.Sprintf(`{"turns": [
		{"actions": [{"exec": {"command": "sh", "args": ["-c", %q]}},
			{"tool": {"name": "Read", "kind": "read", "title": "Read", "input": {"path": "README.md"}}},
			{"tool": {"name": "Write", "kind": "edit", "title": "Write", "input": {"path": "greeting.txt"},
				"do": [{"write": {"path": "greeting.txt", "text": "Hello"}}]}}]},
		{"actions": [{"say": {"text": "greeting.txt"}}]}]}`, wait))
	text := suite.read("evals/greet.yaml")
	hello := text[strings.Index(text, "  - id: hello"):strings.Index(text, "variants:")]
	var cases strings.Builder
	for _, id := range []string{"a", "b", "c", "d"} {
		cases.WriteString(strings.Replace(hello, "hello", id, 1))
	}
	suite.write("evals/greet.yaml", strings.Replace(text, hello, cases.String(), 1)+"limits: {timeout: 1m}\n"+key)
	return suite
}

var started = regexp.MustCompile(`(?m)^=== RUN   TestEvals/greet/(\w)$`)

// TestParallel runs units at the same time, and reports them in the order of the playbook.
func TestParallel(t *testing.T) {
	tests := []struct {
		name, key string
		parallel  int
		env       []string
	}{
		{name: "by the environment", parallel: 4, env: []string{"EVALTEST_PARALLEL=4"}},
		{name: "by the playbook", parallel: 2, key: "parallel: 2\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			suite := meets(t, tt.parallel, tt.key)
			out, code := suite.test(append(tt.env, "EVALTEST_MODE=live", "EVALTEST_SANDBOX=none"), "-test.v")
			require.Zero(t, code, out)
			var order strings.Builder
			for _, m := range started.FindAllStringSubmatch(out, -1) {
				order.WriteString(m[1])
			}
			require.Equal(t, "abcd", order.String(), out)
		})
	}
}

// TestParallelMisspelt refuses a number that is none.
func TestParallelMisspelt(t *testing.T) {
	t.Parallel()
	suite := newModule(t).compile("./evals")
	for _, value := range []string{"0", "-1", "many", "1.5"} {
		out, code := suite.test([]string{"EVALTEST_PARALLEL=" + value})
		require.NotZero(t, code, out)
		require.Contains(t, out, fmt.Sprintf("EVALTEST_PARALLEL: %q must be a number of units, at least 1", value))
	}
}

// TestParallelFailfast runs no more units than it has to once one has failed.
func TestParallelFailfast(t *testing.T) {
	suite := meets(t, 1, "")
	kept := t.TempDir()
	suite.write("evals/greet.yaml",
		strings.Replace(suite.read("evals/greet.yaml"), "contains: Hello", "contains: Goodbye", 1))
	out, code := suite.test([]string{"EVALTEST_MODE=live", "EVALTEST_SANDBOX=none", "EVALTEST_RUN_DIR=" + kept},
		"-test.v", "-test.failfast")
	require.NotZero(t, code, out)
	require.Equal(t, 1, len(started.FindAllString(out, -1)), out)
	require.NotContains(t, out, "was not run")
	_, err := os.Stat(kept)
	require.NoError(t, err)
	f := faceOf(t, kept, code)
	require.Less(t, len(f.Units), 4, "the others were given up")
}

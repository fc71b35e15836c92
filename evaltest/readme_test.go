package evaltest_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadme does what the README says: its test and its playbook pass on the committed cassette, and its failure is what
// a person sees.
func TestReadme(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?s)```(\\w*)\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	block := func(language, contains string) string {
		t.Helper()
		for _, b := range blocks {
			if b[1] == language && strings.Contains(b[2], contains) {
				return b[2]
			}
		}
		t.Fatalf("README.md has no block of %q with %q", language, contains)
		return ""
	}
	suite, err := os.ReadFile("../evals/search_test.go")
	require.NoError(t, err)
	require.Equal(t, string(suite), block("go", "evaltest.AgentSuite"), "it is the one that runs in evals")
	require.Less(t, strings.Count(string(suite), "\n"), 40)

	m := newModule(t)
	m.remove("evals/greet.yaml")
	require.NoError(t, os.CopyFS(m.path("fixtures/inventory"), os.DirFS("../fixtures/inventory")))
	require.NoError(t, os.CopyFS(m.path("cassettes/evals/fix-bug"), os.DirFS("../cassettes/evals/fix-bug")))
	m.write("evals/evals_test.go", block("go", "evaltest.Describe"))
	playbook := block("yaml", "name: fix-bug")
	m.write("evals/fix-bug/fix-bug.yaml", playbook)
	out, code := m.goTest(nil, "./evals")
	require.Zero(t, code, out)

	m.write("evals/fix-bug/fix-bug.yaml", strings.Replace(playbook, "path: reorder/plan.go}", "path: reorder/plan_test.go}", 1))
	out, code = m.goTest(nil, "./evals")
	require.NotZero(t, code, out)
	for line := range strings.Lines(block("", "FAIL")) {
		require.Contains(t, out, strings.TrimSpace(line))
	}
}

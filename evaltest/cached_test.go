package evaltest_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestGoTestCache runs suites twice through the go command: a pure replay may come from its cache the second time,
// until one of its inputs changes; a suite that starts a child never may.
func TestGoTestCache(t *testing.T) {
	m := newModule(t)
	out, code := m.goTest([]string{"EVALTEST_MODE=record"}, "./evals")
	require.Zero(t, code, out)
	m.age()

	m.goTest(nil, "./evals")
	out, code = m.goTest(nil, "./evals")
	require.Zero(t, code, out)
	require.Contains(t, out, "(cached)", "a pure replay")

	inputs := []struct{ name, file, old, new string }{
		{"playbook", "evals/greet.yaml", "name: greets", "name: is-kind"},
		{"cassette", shopCassette, `"at"`, `"at"`},
		{"fixture", "fixtures/shop/stock.txt", "tea 3", "tea 3"},
	}
	for _, in := range inputs {
		t.Run(in.name, func(t *testing.T) {
			if in.old == in.new { // the time alone is enough for the go command
				stamp := time.Now().Add(-30 * time.Minute)
				require.NoError(t, os.Chtimes(m.path(in.file), stamp, stamp))
			} else {
				m.replace(in.file, in.old, in.new)
				m.age()
			}
			out, code := m.goTest(nil, "./evals")
			require.Zero(t, code, out)
			require.NotContains(t, out, "(cached)", "a changed %s", in.name)
			out, _ = m.goTest(nil, "./evals")
			require.Contains(t, out, "(cached)", "nothing changed since")
		})
	}
	t.Run("mode", func(t *testing.T) {
		out, code := m.goTest([]string{"EVALTEST_MODE=relpay"}, "./evals")
		require.NotZero(t, code, out)
	})
	t.Run("misspelt variable", func(t *testing.T) {
		for _, v := range []string{"EVALTEST_MOD", "EVALTEST_MDOE", "EVALTST_MODE", "EVALTEST_SANDBOXX"} {
			out, code := m.goTest([]string{v + "=record"}, "./evals")
			require.NotZero(t, code, out)
			require.Contains(t, out, "unknown environment variable "+v+": write EVALTEST_")
		}
		out, _ := m.goTest(nil, "./evals")
		require.Contains(t, out, "(cached)", "without it the result is still known")
	})
	t.Run("run step", func(t *testing.T) {
		m.replace("evals/greet.yaml", "acp.prompt\n", "acp.prompt\n        - {name: version, run: go version}\n")
		m.age()
		for range 2 {
			out, code := m.goTest(nil, "./evals")
			require.Zero(t, code, out)
			require.NotContains(t, out, "(cached)", "a suite that starts a child")
		}
	})
}

// age makes all files of the module old enough for the go command, which caches nothing that depends on files of the
// last two seconds.
func (m module) age() {
	m.t.Helper()
	old := time.Now().Add(-time.Hour)
	require.NoError(m.t, filepath.WalkDir(m.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() == "never-cached" {
			return err
		}
		return os.Chtimes(path, old, old)
	}))
}

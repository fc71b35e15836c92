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
	t.Parallel()
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
		says := func(v, out string, code int) {
			require.NotZero(t, code, out)
			require.Contains(t, out, "unknown environment variable "+v+": write EVALTEST_")
		}
		out, code := m.goTest([]string{"EVALTEST_MOD=record"}, "./evals")
		says("EVALTEST_MOD", out, code)
		suite := m.compile("./evals")
		for _, v := range []string{"EVALTEST_MDOE", "EVALTST_MODE", "EVALTEST_SANDBOXX"} {
			out, code := suite.test([]string{v + "=record"})
			says(v, out, code)
		}
		out, _ = m.goTest(nil, "./evals")
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

// TestDataOutsideTheModule: the go command does not look for changes of files outside the module, so rows from there
// keep their suite out of its cache.
func TestDataOutsideTheModule(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	outside := t.TempDir()
	rows, want := filepath.Join(outside, "rows.jsonl"), filepath.Join(outside, "want.json")
	write := func(file, text string) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		old := time.Now().Add(-time.Hour)
		require.NoError(t, os.Chtimes(file, old, old))
	}
	m.write("outside/rows_test.go", `package outside

import (
	"context"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
)

var same = evaltest.NewScorer("same", func(_ context.Context, _ string, got, want int) (evaltest.Score, error) {
	if got != want {
		return evaltest.Score{Reason: "differs"}, nil
	}
	return evaltest.Score{Value: 1}, nil
})

func size(_ context.Context, text string) (int, error) { return len(text), nil }

func TestRows(t *testing.T) {
	evaltest.Suite[string, int, int]{
		ID: "rows", File: "`+rows+`", Task: size, Scorers: []evaltest.Scorer[string, int, int]{same},
	}.Run(t)
}

func TestExpected(t *testing.T) {
	evaltest.Suite[string, int, int]{
		ID: "expected", Task: size, Scorers: []evaltest.Scorer[string, int, int]{same},
		Data: []evaltest.Row[string, int]{{ID: "a", Input: "tea", ExpectedFile: "`+want+`"}},
	}.Run(t)
}
`)
	m.age()
	for _, tt := range []struct{ test, file, good, bad string }{
		{
			"TestRows", rows, `{"id":"a","input":"tea","expected":3}` + "\n",
			`{"id":"a","input":"tea","expected":4}` + "\n",
		},
		{"TestExpected", want, "3", "4"},
	} {
		write(tt.file, tt.good)
		for range 2 {
			out, code := m.goTest(nil, "./outside", "-run", tt.test)
			require.Zero(t, code, out)
			require.NotContains(t, out, "(cached)")
		}
		write(tt.file, tt.bad)
		out, code := m.goTest(nil, "./outside", "-run", tt.test)
		require.NotZero(t, code, "a stale green: %s", out)
	}
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

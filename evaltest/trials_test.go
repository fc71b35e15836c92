package evaltest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// TestTrials holds a variant to the playbook's rule: two of three trials have to pass.
func TestTrials(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.write("evals/greet.yaml", m.read("evals/greet.yaml")+"trials: {count: 3, pass: 2}\n")
	suite := m.compile("./evals")
	out, code := suite.test([]string{"EVALTEST_MODE=record"})
	require.Zero(t, code, out)

	spoil := func(trial string) { // the agent does something else in this trial, as no script of it can
		path := filepath.Join(m.dir, "cassettes/evals/greet/hello/fake."+trial+".jsonl")
		was, err := cassette.Open(disk.Tree(m.dir), path)
		require.NoError(t, err)
		script := m.read("scripts/greet.json")
		m.replace("scripts/greet.json", `"name": "Read"`, `"name": "Glance"`)
		require.NoError(t, os.Remove(path))
		suite.test([]string{"EVALTEST_MODE=missing"})
		m.write("scripts/greet.json", script)
		is, err := cassette.Open(disk.Tree(m.dir), path)
		require.NoError(t, err)
		is.Header.Fingerprints = was.Header.Fingerprints
		require.NoError(t, cassette.Write(disk.Tree(m.dir), path, is))
	}
	spoil("2")
	out, code = suite.test(nil, "-test.v")
	require.Zero(t, code, out)
	golden.Equal(t, "testdata/trials/two-of-three.txt", out)

	third := "cassettes/evals/greet/hello/fake.3.jsonl"
	text := m.read(third)
	m.remove(third)
	out, code = suite.test(nil)
	require.NotZero(t, code, out, "two judged trials, one of them passed: nobody knows")
	golden.Equal(t, "testdata/trials/unknown.txt", out)
	m.write(third, text)

	spoil("3")
	out, code = suite.test(nil)
	require.NotZero(t, code, out)
	golden.Equal(t, "testdata/trials/one-of-three.txt", out)

	m.remove("cassettes/evals/greet/hello/fake.1.jsonl")
	out, code = suite.test(nil)
	require.NotZero(t, code, out, "an error is no failed trial: nothing is known of it")
	golden.Equal(t, "testdata/trials/error.txt", out)
}

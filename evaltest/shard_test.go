package evaltest_test

import (
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// TestShards divides the units of a playbook and the rows of a suite among processes of go test: together they run all
// of them, each once, and their kept runs are merged.
func TestShards(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	for _, id := range []string{"two", "three", "four", "five"} {
		m.replace("evals/greet.yaml", "variants:\n",
			"  - {id: "+id+", prompts: [Write a greeting., Which file]}\nvariants:\n")
	}
	m.write("evals/rows_test.go", `package evals

import (
	"context"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
)

func TestRows(t *testing.T) {
	type row = evaltest.Row[string, string]
	evaltest.Suite[string, string, string]{
		ID:   "rows",
		Data: []row{{ID: "a"}, {ID: "b"}, {ID: "c"}, {ID: "d"}, {ID: "e"}},
		Task: func(_ context.Context, in string) (string, error) { return in, nil },
		Scorers: []evaltest.Scorer[string, string, string]{evaltest.NewScorer("ok",
			func(context.Context, string, string, string) (evaltest.Score, error) {
				return evaltest.Score{Value: 1}, nil
			})},
	}.Run(t)
}
`)
	suite := m.compile("./evals")
	out, code := suite.test([]string{"EVALTEST_MODE=record"})
	require.Zero(t, code, out)
	const shards = 7 // more than there are cases: some have nothing
	ran := make(map[string]int)
	subtest := regexp.MustCompile(`--- PASS: (TestEvals/greet/[a-z]+/fake|TestRows/rows/[a-z]) `)
	root := t.TempDir()
	empty := 0
	for i := range shards {
		out, code := suite.test([]string{
			fmt.Sprintf("EVALTEST_SHARD=%d/%d", i+1, shards), "EVALTEST_RUN_DIR=" + root, "CI=1",
		}, "-test.v")
		require.Zero(t, code, out)
		require.Contains(t, out, fmt.Sprintf("shard %d of %d (EVALTEST_SHARD): ", i+1, shards))
		for _, name := range subtest.FindAllStringSubmatch(out, -1) {
			ran[name[1]]++
		}
		empty += strings.Count(out, "none of the 5 units is this shard's: nothing is run")
	}
	require.Positive(t, empty)
	require.Len(t, ran, 10)
	for name, times := range ran {
		require.Equal(t, 1, times, name)
	}

	parts, err := rundir.PartsIn(root)
	require.NoError(t, err)
	require.Len(t, parts, shards)
	merged, err := rundir.Merge(context.Background(), t.TempDir(), "", time.Time{}, parts, new(secret.Set))
	require.NoError(t, err)
	defer merged.Close()
	require.Nil(t, merged.Missing)
	units, err := merged.Units()
	require.NoError(t, err)
	require.Len(t, units, 5)
	for _, u := range units {
		require.Equal(t, result.Pass, u.Outcome)
	}
	require.NoError(t, merged.Finish(merged.State))
	require.FileExists(t, filepath.Join(merged.UnitDirs("three", "fake", 1).Artifacts, rundir.Trajectory))

	for _, text := range []string{"0/3", "4/3", "auto"} {
		out, code := suite.test([]string{
			"EVALTEST_SHARD=" + text, "CI_NODE_INDEX=", "CIRCLE_NODE_INDEX=", "JOB_COMPLETION_INDEX=",
		})
		require.NotZero(t, code, out)
		require.Contains(t, out, "EVALTEST_SHARD")
	}
}

// TestShardsOfBazel runs like a test that Bazel divides: once as its rules run any program, which is to divide itself,
// and once as those for Go do, which have divided the tests before the first begins.
func TestShardsOfBazel(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	suite := m.compile("./evals")
	out, code := suite.test([]string{"EVALTEST_MODE=record"})
	require.Zero(t, code, out)
	dir, units := t.TempDir(), 0
	for i := range 3 {
		status := filepath.Join(dir, fmt.Sprint(i))
		env := []string{fmt.Sprint("TEST_SHARD_INDEX=", i), "TEST_TOTAL_SHARDS=3", "TEST_SHARD_STATUS_FILE=" + status}
		out, code := suite.test(env, "-test.v")
		require.Zero(t, code, out)
		require.FileExists(t, status)
		units += strings.Count(out, "--- PASS: TestEvals/greet/hello/fake ")
	}
	require.Equal(t, 1, units)

	m.write("status", "")
	out, code = suite.test([]string{
		"TEST_SHARD_INDEX=1", "TEST_TOTAL_SHARDS=3", "TEST_SHARD_STATUS_FILE=" + m.path("status"),
	}, "-test.v")
	require.Zero(t, code, out)
	require.Contains(t, out, "this test's runner has divided the tests of shard 2 of 3 already")
	require.Contains(t, out, "--- PASS: TestEvals/greet/hello/fake ")
}

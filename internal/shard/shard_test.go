package shard

import (
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestParse(t *testing.T) {
	s, err := Parse("2/3")
	require.NoError(t, err)
	require.Equal(t, Shard{Index: 2, Of: 3}, s)
	require.Equal(t, "shard 2 of 3", s.String())
	for _, text := range []string{
		"", "0/3", "4/3", "1/0", "3", "1/", "/3", "1/2/3", "-1/3", "+1/3", " 1/3", "1/3 ", "a/b", "1.0/3", "AUTO",
		"0/0",
		"1/1000000000000", "99999999999999999999/99999999999999999999", "1/100001", "1\n/3",
	} {
		_, err := Parse(text)
		require.Errorf(t, err, "%q", text)
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"1/3", "3/3", "0/3", "auto", "1/1/1"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Parse(text)
		if err != nil {
			return
		}
		if s.Index < 1 || s.Index > s.Of || s.Of > Most {
			t.Fatalf("%q: %v", text, s)
		}
	})
}

// vars reads NAME=VALUE words.
func vars(words string) map[string]string {
	all := make(map[string]string)
	for word := range strings.FieldsSeq(words) {
		name, value, _ := strings.Cut(word, "=")
		all[name] = value
	}
	return all
}

// env reads variables from a map.
func env(vars map[string]string) func(string) string {
	return func(name string) string { return vars[name] }
}

func TestFind(t *testing.T) {
	slurm := func(id string) map[string]string {
		return map[string]string{
			"SLURM_ARRAY_TASK_ID": id, "SLURM_ARRAY_TASK_COUNT": "4", "SLURM_ARRAY_TASK_MIN": "3",
			"SLURM_ARRAY_TASK_MAX": "9", "SLURM_ARRAY_TASK_STEP": "2",
		}
	}
	with := func(vars map[string]string, name, value string) map[string]string { vars[name] = value; return vars }
	gitlab := vars("CI_NODE_INDEX=1 CI_NODE_TOTAL=3")
	for _, tt := range []struct {
		name, flag, said string
		env              map[string]string
		want, from, err  string
	}{
		{name: "nothing"},
		{name: "flag", flag: "2/3", want: "shard 2 of 3", from: "--shard"},
		{name: "variable", said: "3/3", want: "shard 3 of 3", from: "EVALTEST_SHARD"},
		{name: "the flag wins", flag: "1/2", said: "3/3", want: "shard 1 of 2", from: "--shard"},
		{name: "typo", flag: "0/3", err: `--shard: "0/3": shards count from 1 to their number, 3`},
		{name: "typo of the variable", said: "4/3", err: `EVALTEST_SHARD: "4/3": shards count from 1`},
		{name: "not without auto", env: gitlab},
		{
			name: "gitlab", flag: "auto", env: gitlab,
			want: "shard 1 of 3", from: "GitLab's CI_NODE_INDEX and CI_NODE_TOTAL",
		},
		{name: "gitlab by the variable", said: "auto", env: gitlab, want: "shard 1 of 3", from: "GitLab's"},
		{
			name: "gitlab without parallel", flag: "auto", env: vars("CI_NODE_TOTAL=1"),
			err: "auto: nothing says which shard this is: none of CI_NODE_INDEX, CIRCLE_NODE_INDEX",
		},
		{
			name: "gitlab half", flag: "auto", env: vars("CI_NODE_INDEX=1"),
			err: "CI_NODE_INDEX is set and CI_NODE_TOTAL is not",
		},
		{
			name: "gitlab from 0", flag: "auto", env: vars("CI_NODE_INDEX=0 CI_NODE_TOTAL=3"),
			err: "GitLab: CI_NODE_INDEX is 0",
		},
		{
			name: "circleci", flag: "auto", env: vars("CIRCLE_NODE_INDEX=0 CIRCLE_NODE_TOTAL=4"),
			want: "shard 1 of 4", from: "CircleCI's",
		},
		{
			name: "circleci last", flag: "auto", env: vars("CIRCLE_NODE_INDEX=3 CIRCLE_NODE_TOTAL=4"),
			want: "shard 4 of 4",
		},
		{
			name: "circleci beyond", flag: "auto", env: vars("CIRCLE_NODE_INDEX=4 CIRCLE_NODE_TOTAL=4"),
			err: "CircleCI",
		},
		{
			name: "circleci half", flag: "auto", env: vars("CIRCLE_NODE_TOTAL=4"),
			err: "nobody knows which of the jobs this is",
		},
		{
			name: "buildkite", flag: "auto",
			env:  vars("BUILDKITE_PARALLEL_JOB=1 BUILDKITE_PARALLEL_JOB_COUNT=2"),
			want: "shard 2 of 2", from: "Buildkite's",
		},
		{
			name: "kubernetes", flag: "auto", env: vars("JOB_COMPLETION_INDEX=2 JOB_COMPLETIONS=5"),
			want: "shard 3 of 5", from: "Kubernetes's",
		},
		{
			name: "kubernetes without completions", flag: "auto", env: vars("JOB_COMPLETION_INDEX=2"),
			err: "set JOB_COMPLETIONS to them under env",
		},
		{name: "kubernetes not without auto", env: vars("JOB_COMPLETION_INDEX=2 JOB_COMPLETIONS=5")},
		{name: "slurm", flag: "auto", env: slurm("5"), want: "shard 2 of 4", from: "Slurm's"},
		{name: "slurm last", flag: "auto", env: slurm("9"), want: "shard 4 of 4"},
		{name: "slurm between", flag: "auto", env: slurm("4"), err: "not a range"},
		{
			name: "slurm list", flag: "auto", env: with(slurm("3"), "SLURM_ARRAY_TASK_MAX", "10"),
			err: "Slurm: the tasks of the array are not a range",
		},
		{name: "slurm half", flag: "auto", env: vars("SLURM_ARRAY_TASK_ID=1"), err: "SLURM_ARRAY_TASK_COUNT is not"},
		{
			name: "batch", flag: "auto", env: vars("AWS_BATCH_JOB_ARRAY_INDEX=9 AWS_BATCH_JOB_ARRAY_SIZE=10"),
			want: "shard 10 of 10", from: "AWS Batch's",
		},
		{
			name: "batch half", flag: "auto", env: vars("AWS_BATCH_JOB_ARRAY_INDEX=9"),
			err: "AWS_BATCH_JOB_ARRAY_SIZE is not",
		},
		{
			name: "no number", flag: "auto", env: vars("CIRCLE_NODE_INDEX=x CIRCLE_NODE_TOTAL=4"),
			err: `CIRCLE_NODE_INDEX: "x" is no number`,
		},
		{name: "auto and nothing", flag: "auto", err: "nothing says which shard this is"},
		{
			name: "two that differ", flag: "auto",
			env: vars("CI_NODE_INDEX=1 CI_NODE_TOTAL=3 JOB_COMPLETION_INDEX=1 JOB_COMPLETIONS=3"),
			err: "say which with i/n",
		},
		{
			name: "two that agree", flag: "auto",
			env:  vars("CI_NODE_INDEX=2 CI_NODE_TOTAL=3 JOB_COMPLETION_INDEX=1 JOB_COMPLETIONS=3"),
			want: "shard 2 of 3", from: "GitLab's",
		},
		{name: "bazel half", env: vars("TEST_TOTAL_SHARDS=3"), err: "TEST_SHARD_INDEX is not"},
		{name: "bazel without shards", env: vars("TEST_SHARD_STATUS_FILE=/nowhere/status")},
		{
			name: "bazel contradicts", flag: "1/3", env: vars("TEST_SHARD_INDEX=1 TEST_TOTAL_SHARDS=3"),
			err: "let one of them speak",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			set := map[string]string{"EVALTEST_SHARD": tt.said}
			maps.Copy(set, tt.env)
			s, note, err := Find(Words{Flag: tt.flag, Getenv: env(set)})
			require.Empty(t, note)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			if tt.want == "" {
				require.Equal(t, Shard{}, s)
				return
			}
			require.Equal(t, tt.want, s.String())
			require.Contains(t, s.From, tt.from)
		})
	}
}

// TestBazel runs like a test that Bazel divides, by the environment alone.
func TestBazel(t *testing.T) {
	file := filepath.Join(t.TempDir(), "status")
	words := Words{Getenv: env(map[string]string{
		"TEST_SHARD_INDEX": "1", "TEST_TOTAL_SHARDS": "3", "TEST_SHARD_STATUS_FILE": file,
	})}
	for range 2 { // two runs in one test
		s, note, err := Find(words)
		require.NoError(t, err)
		require.Empty(t, note)
		require.Equal(t, "shard 2 of 3", s.String())
		require.Equal(t, "Bazel's TEST_SHARD_INDEX and TEST_TOTAL_SHARDS", s.From)
		require.FileExists(t, file)
	}
	auto := words
	auto.Flag = Auto
	s, _, err := Find(auto)
	require.NoError(t, err)
	require.Equal(t, "shard 2 of 3", s.String())

	// A test's runner, such as that of rules_go, has touched the file: it has left out what other shards run.
	for _, text := range []string{"", "more than we would have written"} {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		_, _, err = Find(words)
		require.ErrorContains(t, err, "somebody else has touched the file already")
		words.Tests = true
		s, note, err := Find(words)
		require.NoError(t, err)
		require.Equal(t, Shard{}, s)
		require.Contains(t, note, "divided the tests of shard 2 of 3 already")
		auto := words
		auto.Flag = Auto
		_, _, err = Find(auto)
		require.ErrorContains(t, err, "somebody else")
		words.Tests = false
	}

	words.Getenv = env(map[string]string{
		"TEST_SHARD_INDEX": "1", "TEST_TOTAL_SHARDS": "3", "TEST_SHARD_STATUS_FILE": filepath.Join(file, "nowhere"),
	})
	_, _, err = Find(words)
	require.ErrorContains(t, err, "TEST_SHARD_STATUS_FILE")
}

// units returns the ids of a plan of n units: cases of one to four arms with one or two trials.
func units(n int) (ids []string) {
	for c := 0; ; c++ {
		for v := range c%4 + 1 {
			for trial := range c%2 + 1 {
				if len(ids) == n {
					return ids
				}
				ids = append(ids, fmt.Sprintf("demo/case%d/v%d/%d", c, v, trial+1))
			}
		}
	}
}

// weigh says of most cases how long they take, unevenly.
func weigh(ids []string) Weights {
	w := Weights{Version: 1, Seconds: make(map[string]float64)}
	for i, id := range ids {
		if i%7 > 0 {
			w.Seconds[id[:len(id)-2]] = math.Exp(float64(hash(id)%700) / 100)
		}
	}
	return w
}

// TestDivide holds for 1,000 units and 1 to 17 shards that these have all units, each once, and cases whole.
func TestDivide(t *testing.T) {
	ids := units(1000)
	for _, w := range []Weights{{}, weigh(ids)} {
		tasks := TasksOf(ids, w)
		for of := 1; of <= 17; of++ {
			d := Divide(tasks, of)
			var all []string
			sum, shares := 0, 0.0
			for i := range of {
				all = append(all, d.Tasks(i+1)...)
				sum += d.Units(i + 1)
				shares += d.Share(i + 1)
			}
			require.Equal(t, len(ids), sum)
			require.InDelta(t, 1, shares, 1e-9)
			slices.Sort(all)
			var want []string
			for _, task := range tasks {
				want = append(want, task.ID)
			}
			slices.Sort(want)
			require.Equal(t, want, all)
			again := Divide(TasksOf(ids, w), of)
			require.Equal(t, d, again)
		}
	}
}

// TestPacked holds that packing by times makes shards that are about as long.
func TestPacked(t *testing.T) {
	ids := units(1000)
	tasks := TasksOf(ids, weigh(ids))
	for of := 2; of <= 17; of++ {
		d := Divide(tasks, of)
		most := 0.0
		for i := range of {
			most = max(most, d.Share(i+1)*float64(of))
		}
		require.Less(t, most, 1.1)
	}
	require.Equal(t, "packed by the times of former runs", Divide(tasks, 3).By())
	require.Equal(t, "by a hash of the cases", Divide(TasksOf(ids, Weights{}), 3).By())
}

// TestHashed holds that cases whose ids differ in the last letter alone are spread.
func TestHashed(t *testing.T) {
	var tasks []Task
	for i := range 1000 {
		tasks = append(tasks, Task{ID: fmt.Sprintf("demo/case%d", i), Units: 1})
	}
	for of := 2; of <= 17; of++ {
		d := Divide(tasks, of)
		for i := range of {
			require.InDelta(t, 1000/of, d.Units(i+1), 5*math.Sqrt(1000/float64(of)), "shard %d of %d", i+1, of)
		}
	}
}

// TestSmall holds that a shard may have nothing, and that plans of one case are not all the first shard's.
func TestSmall(t *testing.T) {
	d := Divide(nil, 3)
	require.Zero(t, d.Units(1))
	require.Zero(t, d.Share(1))
	used := make(map[int]bool)
	for i := range 30 {
		d := Divide([]Task{{ID: fmt.Sprintf("plan%d/task", i), Units: 1, Seconds: 5}}, 3)
		for s := 1; s <= 3; s++ {
			used[s] = used[s] || d.Units(s) > 0
		}
	}
	require.Len(t, used, 3)
	for s, ever := range used {
		require.True(t, ever, s)
	}
}

func TestTasksOf(t *testing.T) {
	tasks := TasksOf([]string{"dir/demo/a/x/1", "dir/demo/a/x/2", "dir/demo/a/y/1", "dir/demo/b/x/1"}, Weights{
		Seconds: map[string]float64{"dir/demo/a/x": 3},
	})
	require.Equal(t, []Task{{ID: "dir/demo/a", Units: 3, Seconds: 9}, {ID: "dir/demo/b", Units: 1}}, tasks)
}

func TestParseWeights(t *testing.T) {
	w, err := ParseWeights([]byte(`{"version": 1, "seconds": {"demo/a/x": 1.5, "demo/b/x": 0}}`))
	require.NoError(t, err)
	require.InDelta(t, 1.5, w.Seconds["demo/a/x"], 0)
	for text, want := range map[string]string{
		``: "", `[]`: "", `{"version": 1}`: "seconds", `{"version": 1, "seconds": {}}`: "says nothing",
		`{"version": 2, "seconds": {"a": 1}}`:            "version 2",
		`{"version": 1, "seconds": {"a": -1}}`:           "want seconds from 0",
		`{"version": 1, "seconds": {"a": 1e300}}`:        "want seconds from 0",
		`{"version": 1, "seconds": {"a": "1"}}`:          "",
		`{"version": 1, "seconds": {"a": 1}, "more": 1}`: "more",
	} {
		_, err := ParseWeights([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

func FuzzParseWeights(f *testing.F) {
	f.Add([]byte(`{"version": 1, "seconds": {"demo/a/x": 1.5}}`), "demo/a/x/1")
	f.Fuzz(func(t *testing.T, data []byte, id string) {
		w, err := ParseWeights(data)
		if err != nil {
			return
		}
		d := Divide(TasksOf([]string{id, "demo/b/x/1", "demo/c/x/1"}, w), 2)
		if d.Units(1)+d.Units(2) != 3 {
			t.Fatal("units are lost")
		}
		if sum := d.Share(1) + d.Share(2); !(sum > .999 && sum < 1.001) {
			t.Fatal(sum)
		}
	})
}

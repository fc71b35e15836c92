//go:build unix

package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"
)

// shardFile returns the text of one of the files that docs/scale.md has users copy.
func shardFile(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "docs", "ci", name))
	require.NoError(t, err)
	return string(data)
}

// shardYAML decodes each document of such a file. A key that the test's types lack is a mistake, or is to be added.
func shardYAML[T any](t *testing.T, name string) (all []T) {
	t.Helper()
	dec := yaml.NewDecoder(strings.NewReader(shardFile(t, name)))
	dec.KnownFields(true)
	for {
		var doc T
		err := dec.Decode(&doc)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err, name)
		all = append(all, doc)
	}
}

// shop is a project with a playbook and its recordings, as the files have it.
func shop(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "evals"), 0o755))
	text := strings.Replace(greenPlaybook, "NAME", "shop", 1)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "evals", "shop.yaml"), []byte(text), 0o644))
	recorded, _ := ran(t, 0, dir, nil, "run", "evals/shop.yaml", "--mode", "record")
	require.NoError(t, os.RemoveAll(recorded))
	return dir
}

// bash runs a line in a project and returns what it told. Environment is what the scheduler sets.
func bash(t *testing.T, dir, line string, environment ...string) string {
	t.Helper()
	c := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", line)
	c.Dir, c.Env = dir, append(append(command(dir).Env, quiet()...), environment...)
	var told bytes.Buffer
	c.Stdout, c.Stderr = &told, &told
	require.NoError(t, c.Run(), "%s\n%s", line, &told)
	return told.String()
}

// uploaded copies runs as CI systems keep them: files without their modes, and no directory without files.
func uploaded(t *testing.T, runs, to string, but *regexp.Regexp) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(runs, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(runs, path)
		if err != nil || but != nil && but.MatchString(filepath.ToSlash(rel)) {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, rel)), 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, rel), data, 0o644)
	}))
}

const runsBelow = ".llman/sdd-eval/runs"

// TestShardsOnGitHub runs what the matrix runs, and merges what its jobs upload.
func TestShardsOnGitHub(t *testing.T) {
	t.Parallel()
	type step struct {
		Uses string            `yaml:"uses"`
		With map[string]string `yaml:"with"`
	}
	workflow := shardYAML[struct {
		Name        string            `yaml:"name"`
		On          map[string]any    `yaml:"on"`
		Permissions map[string]string `yaml:"permissions"`
		Jobs        map[string]struct {
			Needs       []string          `yaml:"needs"`
			If          string            `yaml:"if"`
			RunsOn      string            `yaml:"runs-on"`
			Timeout     int               `yaml:"timeout-minutes"`
			Permissions map[string]string `yaml:"permissions"`
			Strategy    struct {
				FailFast *bool            `yaml:"fail-fast"`
				Matrix   map[string][]int `yaml:"matrix"`
			} `yaml:"strategy"`
			Steps []step `yaml:"steps"`
		} `yaml:"jobs"`
	}](t, "shards-github.yml")[0]
	shard, merge := workflow.Jobs["shard"], workflow.Jobs["merge"]
	require.False(t, *shard.Strategy.FailFast)
	require.Equal(t, []string{"shard"}, merge.Needs)
	require.Equal(t, "always()", merge.If)
	require.Equal(t, map[string]string{"contents": "read"}, workflow.Permissions)
	require.Equal(t, map[string]string{"contents": "read", "pull-requests": "write"}, merge.Permissions)
	var action struct {
		Inputs map[string]any `yaml:"inputs"`
	}
	data, err := os.ReadFile(filepath.Join(root, "action.yml"))
	require.NoError(t, err)
	require.NoError(t, yaml.Unmarshal(data, &action))

	dir, temp := shop(t), t.TempDir()
	last := func(steps []step) map[string]string {
		s := steps[len(steps)-1]
		require.Regexp(t, `^sdd-eval/sdd-eval@v`, s.Uses)
		for name := range s.With {
			require.Contains(t, action.Inputs, name)
		}
		return s.With
	}
	jobs := shard.Strategy.Matrix["shard"]
	of := fmt.Sprint(len(jobs))
	for _, i := range jobs {
		with := func(text string) string {
			text = strings.ReplaceAll(text, "${{ matrix.shard }}", fmt.Sprint(i))
			text = strings.ReplaceAll(text, "${{ strategy.job-total }}", of)
			require.NotContains(t, text, "${{")
			return text
		}
		in := last(shard.Steps)
		require.Equal(t, "false", in["comment"], "there is one comment: that of merge")
		require.Contains(t, bash(t, dir, with(in["run"])), fmt.Sprintf("shard %d of %s", i, of))
		name := with(in["name"])
		matched, err := filepath.Match(merge.Steps[2].With["pattern"], name)
		require.NoError(t, err)
		require.True(t, matched, name)
		uploaded(t, filepath.Join(dir, runsBelow), filepath.Join(temp, "shards", name), nil)
		require.NoError(t, os.RemoveAll(filepath.Join(dir, runsBelow)))
	}
	require.Equal(t, "${{ runner.temp }}/shards", merge.Steps[2].With["path"])
	told := bash(t, dir, last(merge.Steps)["run"], "RUNNER_TEMP="+temp)
	require.Contains(t, told, "merged 3 shards")
	require.Contains(t, told, "4 passed")
}

// TestShardsOnGitLab runs what the jobs with parallel run, and merges their artifacts, which come to the same paths.
func TestShardsOnGitLab(t *testing.T) {
	t.Parallel()
	type job struct {
		Stage     string   `yaml:"stage"`
		When      string   `yaml:"when"`
		Timeout   string   `yaml:"timeout"`
		Parallel  int      `yaml:"parallel"`
		Script    []string `yaml:"script"`
		Artifacts struct {
			When    string            `yaml:"when"`
			Expire  string            `yaml:"expire_in"`
			Paths   []string          `yaml:"paths"`
			Exclude []string          `yaml:"exclude"`
			Reports map[string]string `yaml:"reports"`
		} `yaml:"artifacts"`
	}
	pipeline := shardYAML[struct {
		Workflow struct {
			Rules []struct {
				If        string            `yaml:"if"`
				Variables map[string]string `yaml:"variables"`
			} `yaml:"rules"`
		} `yaml:"workflow"`
		Stages    []string          `yaml:"stages"`
		Variables map[string]string `yaml:"variables"`
		Default   struct {
			Image  string   `yaml:"image"`
			Before []string `yaml:"before_script"`
		} `yaml:"default"`
		Shards job `yaml:"shards"`
		Merge  job `yaml:"merge"`
	}](t, "shards-gitlab.yml")[0]
	shards, merge := pipeline.Shards, pipeline.Merge
	require.Equal(t, []string{shards.Stage, merge.Stage}, pipeline.Stages)
	require.Equal(t, []string{"always", "always"}, []string{merge.When, shards.Artifacts.When})
	require.Equal(t, map[string]string{"EVALTEST_UNTRUSTED": "1"}, pipeline.Workflow.Rules[0].Variables)

	dir, next := shop(t), shop(t)
	require.Equal(t, []string{runsBelow + "/"}, shards.Artifacts.Paths)
	require.Equal(t, []string{runsBelow + "/**/workspace/**/*"}, shards.Artifacts.Exclude)
	for i := 1; i <= shards.Parallel; i++ {
		told := bash(t, dir, strings.Join(shards.Script, "\n"), fmt.Sprint("CI_NODE_INDEX=", i),
			fmt.Sprint("CI_NODE_TOTAL=", shards.Parallel))
		require.Contains(t, told, fmt.Sprintf("shard %d of 3 (GitLab's CI_NODE_INDEX and CI_NODE_TOTAL)", i))
		uploaded(t, filepath.Join(dir, runsBelow), filepath.Join(next, runsBelow), regexp.MustCompile(`/workspace/`))
		require.NoError(t, os.RemoveAll(filepath.Join(dir, runsBelow)))
	}
	require.Contains(t, bash(t, next, strings.Join(merge.Script, "\n")), "4 passed")
	found, err := filepath.Glob(filepath.Join(next, merge.Artifacts.Reports["junit"]))
	require.NoError(t, err)
	require.Len(t, found, 1, "the report of the whole run alone")
}

// TestShardsOnKubernetes runs the pods' commands with the variables that they get.
func TestShardsOnKubernetes(t *testing.T) {
	t.Parallel()
	type mount struct {
		Name string `yaml:"name"`
		Path string `yaml:"mountPath"`
	}
	type object struct {
		Version  string `yaml:"apiVersion"`
		Kind     string `yaml:"kind"`
		Metadata struct {
			Name   string            `yaml:"name"`
			Labels map[string]string `yaml:"labels"`
		} `yaml:"metadata"`
		Spec struct {
			Mode        string `yaml:"completionMode"`
			Completions int    `yaml:"completions"`
			Parallelism int    `yaml:"parallelism"`
			Limit       *int   `yaml:"backoffLimit"`
			IndexLimit  *int   `yaml:"backoffLimitPerIndex"`
			Template    struct {
				Spec struct {
					Restart    string `yaml:"restartPolicy"`
					Containers []struct {
						Name    string   `yaml:"name"`
						Image   string   `yaml:"image"`
						Dir     string   `yaml:"workingDir"`
						Command []string `yaml:"command"`
						Env     []struct {
							Name  string `yaml:"name"`
							Value string `yaml:"value"`
						} `yaml:"env"`
						Mounts []mount `yaml:"volumeMounts"`
					} `yaml:"containers"`
					Volumes []struct {
						Name  string            `yaml:"name"`
						Claim map[string]string `yaml:"persistentVolumeClaim"`
					} `yaml:"volumes"`
				} `yaml:"spec"`
			} `yaml:"template"`
		} `yaml:"spec"`
	}
	jobs := shardYAML[object](t, "shards-kubernetes.yml")
	require.Len(t, jobs, 2)
	for _, job := range jobs {
		require.Equal(t, "batch/v1 Job", job.Version+" "+job.Kind)
		require.Equal(t, job.Metadata.Name, job.Metadata.Labels["app"])
		pod := job.Spec.Template.Spec
		require.Equal(t, "Never", pod.Restart, "a shard that runs twice is doubled")
		of := pod.Containers[0]
		require.Equal(t, []mount{{pod.Volumes[0].Name, of.Dir + "/" + runsBelow}}, of.Mounts)
	}
	shards := jobs[0].Spec
	require.Equal(t, "Indexed", shards.Mode)
	require.Zero(t, *shards.IndexLimit)
	require.Zero(t, *jobs[1].Spec.Limit)
	pod := shards.Template.Spec.Containers[0]
	require.Equal(t, fmt.Sprint("JOB_COMPLETIONS=", shards.Completions), pod.Env[0].Name+"="+pod.Env[0].Value)
	dir := shop(t)
	for i := range shards.Completions {
		told := bash(t, dir, strings.Join(pod.Command, " "), pod.Env[0].Name+"="+pod.Env[0].Value,
			fmt.Sprint("JOB_COMPLETION_INDEX=", i))
		require.Contains(t, told, fmt.Sprintf("shard %d of 3 (Kubernetes's", i+1))
	}
	require.Contains(t, bash(t, dir, strings.Join(jobs[1].Spec.Template.Spec.Containers[0].Command, " ")), "4 passed")
}

// merging returns the command line of a file's comment that merges.
func merging(t *testing.T, text string) string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^#\t.*?(sdd-eval merge [^'\n]*)'?$`).FindStringSubmatch(text)
	require.NotNil(t, found)
	return found[1]
}

// TestShardsOnSlurm runs the script as the tasks of its array.
func TestShardsOnSlurm(t *testing.T) {
	t.Parallel()
	dir, script := shop(t), shardFile(t, "shards-slurm.sh")
	require.Contains(t, script, "\n#SBATCH --array=1-3\n")
	for i := range 3 {
		told := bash(t, t.TempDir(), script, "CLAUDE_PROJECT_DIR=", "SLURM_SUBMIT_DIR="+dir, "SLURM_ARRAY_TASK_COUNT=3",
			"SLURM_ARRAY_TASK_MIN=1", "SLURM_ARRAY_TASK_MAX=3", "SLURM_ARRAY_TASK_STEP=1",
			fmt.Sprint("SLURM_ARRAY_TASK_ID=", i+1))
		require.Contains(t, told, fmt.Sprintf("shard %d of 3 (Slurm's", i+1))
	}
	require.Contains(t, bash(t, dir, merging(t, script)), "4 passed")
}

// TestShardsOnBazel runs the script of the test as Bazel does: among links to its files, each shard by itself.
func TestShardsOnBazel(t *testing.T) {
	t.Parallel()
	build := shardFile(t, "shards.BUILD.bazel")
	require.Contains(t, build, "shard_count = 3,")
	require.Contains(t, build, `srcs = ["shards-bazel.sh"],`)
	require.Contains(t, build, `name = "shop",`)
	source, at := shop(t), t.TempDir()
	for i := range 3 {
		links, temp := t.TempDir(), t.TempDir()
		require.NoError(t, filepath.WalkDir(source, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(source, path)
			if err != nil || d.IsDir() {
				return errors.Join(err, os.MkdirAll(filepath.Join(links, rel), 0o755))
			}
			return os.Symlink(path, filepath.Join(links, rel))
		}))
		outputs := filepath.Join(at, "bazel-testlogs", "shop", fmt.Sprintf("shard_%d_of_3", i+1), "test.outputs")
		require.NoError(t, os.MkdirAll(outputs, 0o755))
		told := bash(t, links, shardFile(t, "shards-bazel.sh"), "CLAUDE_PROJECT_DIR=", "TEST_TMPDIR="+temp,
			"TEST_UNDECLARED_OUTPUTS_DIR="+outputs, "TEST_TOTAL_SHARDS=3", fmt.Sprint("TEST_SHARD_INDEX=", i),
			"TEST_SHARD_STATUS_FILE="+filepath.Join(temp, "status"))
		require.Contains(t, told, fmt.Sprintf("shard %d of 3 (Bazel's", i+1))
	}
	require.NoError(t, os.Symlink(filepath.Join(at, "bazel-testlogs"), filepath.Join(source, "bazel-testlogs")))
	require.Contains(t, bash(t, source, merging(t, build)), "4 passed")
}

// Package ci tests the files in this directory, which users copy.
package ci

import (
	"bytes"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gopkg.in/yaml.v3"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/clitest"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/testkit/usermodule"
)

// step is a step of a workflow. A key that is none of these is a mistake, or has to be added here.
type step struct {
	Name string         `yaml:"name"`
	If   string         `yaml:"if"`
	Uses string         `yaml:"uses"`
	With map[string]any `yaml:"with"`
	Run  string         `yaml:"run"`
}

func TestGitHub(t *testing.T) {
	var workflow struct {
		Name        string            `yaml:"name"`
		On          map[string]any    `yaml:"on"`
		Permissions map[string]string `yaml:"permissions"`
		Jobs        map[string]struct {
			RunsOn  string            `yaml:"runs-on"`
			Timeout int               `yaml:"timeout-minutes"`
			Env     map[string]string `yaml:"env"`
			Steps   []step            `yaml:"steps"`
		} `yaml:"jobs"`
	}
	decode(t, "github.yml", &workflow)
	require.Equal(t, map[string]string{"contents": "read"}, workflow.Permissions)
	require.Contains(t, workflow.On, "pull_request")
	var runs []string
	for _, s := range workflow.Jobs["evals"].Steps {
		require.True(t, (s.Uses == "") != (s.Run == ""), "a step uses something or runs something: %+v", s)
		if s.Uses != "" {
			require.Regexp(t, `^actions/[a-z-]+@v\d+$`, s.Uses)
		} else {
			runs = append(runs, s.Run)
		}
	}
	require.Contains(t, runs[0], "install --yes bubblewrap")
	require.Equal(t, []string{"make ci", "make github"}, runs[1:])
	hasTargets(t, runs[1:])
	env := workflow.Jobs["evals"].Env
	require.Equal(t, "${{ github.event.pull_request.head.repo.fork && '1' || '0' }}", env["EVALTEST_UNTRUSTED"])
	for _, value := range []string{"1", "0"} {
		env["EVALTEST_UNTRUSTED"] = value
		known(t, env)
	}
}

func TestGitLab(t *testing.T) {
	var pipeline struct {
		Evals struct {
			Image     string            `yaml:"image"`
			Timeout   string            `yaml:"timeout"`
			Variables map[string]string `yaml:"variables"`
			Rules     []struct {
				If        string            `yaml:"if"`
				Variables map[string]string `yaml:"variables"`
			} `yaml:"rules"`
			Cache     map[string]any `yaml:"cache"`
			Before    []string       `yaml:"before_script"`
			Script    []string       `yaml:"script"`
			Artifacts struct {
				When    string            `yaml:"when"`
				Expire  string            `yaml:"expire_in"`
				Paths   []string          `yaml:"paths"`
				Exclude []string          `yaml:"exclude"`
				Reports map[string]string `yaml:"reports"`
			} `yaml:"artifacts"`
		} `yaml:"evals"`
	}
	decode(t, "gitlab.yml", &pipeline)
	hasTargets(t, pipeline.Evals.Script)
	require.Contains(t, strings.Join(pipeline.Evals.Before, "\n"), "install --yes bubblewrap")
	known(t, pipeline.Evals.Variables)
	require.Len(t, pipeline.Evals.Rules, 2)
	for i, want := range []bool{true, false} {
		untrusted, err := engine.Untrusted(func(of string) string { return pipeline.Evals.Rules[i].Variables[of] })
		require.NoError(t, err)
		require.Equal(t, want, untrusted, pipeline.Evals.Rules[i].If)
	}
	require.Equal(t, "always", pipeline.Evals.Artifacts.When)
	require.Contains(t, pipeline.Evals.Artifacts.Exclude, ".llman/sdd-eval/runs/**/workspace/**/*")
	require.Equal(t, map[string]string{"junit": ".llman/sdd-eval/runs/*/report.junit.xml"},
		pipeline.Evals.Artifacts.Reports)
}

// known expects that the properties which a file requires are properties that there are.
func known(t *testing.T, variables map[string]string) {
	t.Helper()
	const name = "EVALTEST_SANDBOX_REQUIRE"
	require.NotEmpty(t, variables[name])
	_, err := engine.FromEnvironment(engine.Replay, func(of string) string { return variables[of] }, nil)
	require.NoError(t, err)
	all := strings.Split(variables[name], ", ")
	require.Contains(t, all, "unix sockets")
}

func decode(t *testing.T, file string, v any) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	dec := yaml.NewDecoder(bytes.NewReader(data))
	dec.KnownFields(true)
	require.NoError(t, dec.Decode(v), file)
}

// hasTargets expects that each line makes something that the Makefile makes.
func hasTargets(t *testing.T, lines []string) {
	t.Helper()
	require.NotEmpty(t, lines)
	for _, line := range lines {
		target, ok := strings.CutPrefix(line, "make ")
		require.True(t, ok, line)
		require.Regexp(t, `(?m)^`+regexp.QuoteMeta(target)+`: `, Makefile)
	}
}

// linked keeps what the made module is built from in this test binary, by whose content go test's cache knows it.
var linked = evaltest.Describe

// TestMakefile makes everything in a module of its own, as a user has it: first what passes, then what fails.
func TestMakefile(t *testing.T) {
	if testing.Short() {
		t.Skip("make is a process of its own")
	}
	require.NotNil(t, linked)
	clitest.Require(t, "make", []string{"--version"}, 10*time.Second)
	dir := module(t)
	summary := filepath.Join(t.TempDir(), "summary.md")
	target := func(exit int, args ...string) *clitest.Result {
		cmd := clitest.Command(t, "make", args...)
		cmd.Dir, cmd.ExitCode, cmd.Timeout = dir, exit, 5*time.Minute
		cmd.Env = append(goEnvironment(t), "GITHUB_STEP_SUMMARY="+summary, "GITHUB_WORKSPACE="+dir)
		return cmd.Run()
	}
	const failed = 2 // what make exits with

	require.Empty(t, target(0, "github").Stdout, "there are no runs")
	target(0, "record", "RUN=^TestEvals$$/^greet$$")
	require.Contains(t, target(0, "eval").Stdout, "ok ")
	target(0, "ci")
	require.Equal(t, 0, junit(t, dir, "junit.xml"))
	const ofRuns = ".llman/sdd-eval/runs/*/report.junit.xml"
	require.Equal(t, 0, junit(t, dir, ofRuns))
	require.Empty(t, target(0, "github").Stdout)
	require.Contains(t, read(t, summary), "✅ passed: greet")

	playbook := filepath.Join(dir, "evals", "greet.yaml")
	require.NoError(t, os.WriteFile(playbook,
		[]byte(strings.Replace(read(t, playbook), "contains: Hello", "contains: Good evening", 1)), 0o600))
	target(failed, "ci")
	require.Equal(t, 5, junit(t, dir, "junit.xml"), "the evaluator, and all above it")
	require.Equal(t, 2, junit(t, dir, ofRuns), "the case and the evaluator")
	assert.Regexp(t, `(?m)^::error file=evals/greet.yaml,line=\d+,title=greet/hello/fake/greets%3A failed::`,
		target(0, "github").Stdout)
	require.Contains(t, read(t, summary), "❌ failed: greet")
}

// junit returns how many test cases of a module's JUnit files have failed.
func junit(t *testing.T, dir, glob string) (failures int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, glob))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		var suites struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
		}
		require.NoError(t, xml.Unmarshal([]byte(read(t, file)), &suites))
		require.Positive(t, suites.Tests)
		failures += suites.Failures
	}
	return failures
}

// module makes a module with one playbook, a scripted agent and our Makefile, which requires this one.
func module(t *testing.T) string {
	t.Helper()
	dir, root := t.TempDir(), filepath.Join("..", "..")
	for _, part := range []string{"evals", "fixtures", "scripts"} {
		require.NoError(t,
			os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(root, "evaltest", "testdata", "module", part))))
	}
	require.NoError(t, usermodule.Write(dir, root, "example.com/shop", "sdd-eval", "gotestsum"))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "Makefile"), []byte(Makefile), 0o600))
	return dir
}

func read(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(data)
}

// goEnvironment has go's caches, which lie in our home, and lets nothing be downloaded.
func goEnvironment(t *testing.T) []string {
	t.Helper()
	env := []string{"GOFLAGS=-mod=mod", "GOPROXY=off", "GOTOOLCHAIN=local"}
	for _, name := range []string{"GOCACHE", "GOMODCACHE"} {
		out, err := exec.Command("go", "env", name).Output()
		require.NoError(t, err)
		env = append(env, name+"="+strings.TrimSpace(string(out)))
	}
	return env
}

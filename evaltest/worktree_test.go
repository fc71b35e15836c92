//go:build unix

package evaltest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/clitest"
	"github.com/sdd-eval/sdd-eval/internal/helper"
)

// curiousSuite runs the agent, and leaves something for people.
const curiousSuite = `package evals

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/clitest"
)

func TestEvals(t *testing.T) {
	dir := clitest.OutputDir(t)
	if again := clitest.OutputDir(t); again != dir {
		t.Errorf("%s, and then %s", dir, again)
	}
	if err := os.WriteFile(filepath.Join(dir, "said.txt"), []byte("hello\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	evaltest.Describe(t, "*.yaml")
}
`

// curiousAgent looks for what a project, or its user, tells agents, as these do: in its home, its environment, and from
// its workspace upwards.
const curiousAgent = `#!/bin/sh
{
	echo "in $(basename "$PWD")"
	ls -A "$HOME"
	env | grep ^CLAUDE
	dir=$PWD
	while [ "$dir" != / ]; do
		for name in CLAUDE.md AGENTS.md .claude/settings.json; do
			cat "$dir/$name" 2>/dev/null
		done
		dir=$(dirname "$dir")
	done
} >found.txt
exec fake-acp "$@"
`

// newProject makes a module with a repository, in which agents and git are told things, and returns the variables that
// its suite is to be run with.
func newProject(t *testing.T) (module, []string) {
	t.Helper()
	m := newModule(t)
	outside := t.TempDir()
	agent, err := helper.Find()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(agent.Path, filepath.Join(outside, "fake-acp")))
	require.NoError(t, os.WriteFile(filepath.Join(outside, "curious"), []byte(curiousAgent), 0o755))
	require.NoError(t, os.Rename(m.path("scripts/greet.json"), filepath.Join(outside, "greet.json")))
	m.write("evals/evals_test.go", curiousSuite)
	m.replace("evals/greet.yaml", "{kind: fake-acp, args: [../scripts/greet.json]}",
		"{kind: acp, command: curious, args: ["+filepath.Join(outside, "greet.json")+"]}")
	for _, name := range []string{"CLAUDE.md", "AGENTS.md"} {
		m.write(name, "You are told by the project.\n")
	}
	m.write(".claude/settings.json",
		`{"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": "exit 2"}]}]}}`)
	home := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(home, "CLAUDE.md"), []byte("You are told by the user.\n"), 0o644))
	for _, args := range [][]string{
		{"init", "--quiet"},
		{"add", "--all"},
		{"-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=x"},
	} {
		out, code := m.run([]string{"GIT_CONFIG_GLOBAL=" + os.DevNull}, "git", args...)
		require.Zero(t, code, out)
	}
	m.write(".git/hooks/post-checkout", "#!/bin/sh\necho hooked >hooked\n")
	require.NoError(t, os.Chmod(m.path(".git/hooks/post-checkout"), 0o755))
	goEnv, err := exec.Command("go", "env", "GOCACHE", "GOMODCACHE").Output()
	require.NoError(t, err)
	caches := strings.Fields(string(goEnv))
	return m, []string{
		"EVALTEST_MODE=live", "TEST_RUN_ID=ci", "HOME=" + home, "GOCACHE=" + caches[0], "GOMODCACHE=" + caches[1],
		"CLAUDE_CONFIG_DIR=" + m.path(".claude"), "CLAUDE_PROJECT_DIR=" + m.dir,
		"PATH=" + outside + ":" + os.Getenv("PATH"),
	}
}

// TestTwoWorktrees runs a suite from two worktrees at once, as `go test` does. Neither sees the other's output, and the
// agents see nothing of what the project and its user tell agents: one is confined, and what is kept of its run lies in
// the project, the other one is not, and it lies elsewhere.
func TestTwoWorktrees(t *testing.T) {
	m, env := newProject(t)
	t.Chdir(m.dir)
	first, second := module{t, clitest.Worktree(t, "HEAD")}, module{t, clitest.Worktree(t, "HEAD")}
	tests := []struct {
		tree          module
		runs, sandbox string
	}{
		{tree: first, runs: first.dir, sandbox: "auto"},
		{tree: second, runs: t.TempDir(), sandbox: "none"},
	}
	var group sync.WaitGroup
	for _, tt := range tests {
		group.Go(func() {
			out, code := tt.tree.goTest(slices.Concat(env,
				[]string{"EVALTEST_RUN_DIR=" + tt.runs, "EVALTEST_SANDBOX=" + tt.sandbox}), "./evals")
			assert.Zero(t, code, out)
		})
	}
	group.Wait()
	for _, tt := range tests {
		require.NoFileExists(t, tt.tree.path("hooked"), "hooks of the project")
		require.Equal(t, "hello\n", tt.tree.read("test-output/ci/evals/TestEvals/said.txt"))
		runs := module{t, tt.runs}.glob(".llman/sdd-eval/runs/*-greet-ci")
		require.Len(t, runs, 1)
		workspace := module{t, filepath.Join(runs[0], "variants", "fake", "workspace")}
		require.Equal(t, "in workspace\n", workspace.read("found.txt"), "what agents are told, sandbox %s", tt.sandbox)
		require.FileExists(t, workspace.path("greeting.txt"))
		status, code := tt.tree.run(nil, "git", "status", "--porcelain")
		require.Zero(t, code, status)
		require.NotContains(t, status, "test-output", "git ignores it")
	}
	require.NoDirExists(t, m.path("test-output"))
	require.NoDirExists(t, m.path(".llman"))
}

// TestSameRunID runs a suite twice at once in one place, as the packages of `go test ./...` share what names the run.
func TestSameRunID(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.write("evals/evals_test.go", curiousSuite)
	suite := m.compile("./evals")
	env := []string{"EVALTEST_MODE=live", "TEST_RUN_ID=ci", "EVALTEST_RUN_DIR=" + m.dir}
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() {
			out, code := suite.test(env)
			assert.Zero(t, code, out)
		})
	}
	group.Wait()
	require.Len(t, m.glob("test-output/ci/evals/*/said.txt"), 2)
	require.Len(t, m.glob(".llman/sdd-eval/runs/*-greet-ci*/results.jsonl"), 2)

	out, code := suite.test([]string{"EVALTEST_MODE=live", "TEST_RUN_ID=../x", "EVALTEST_RUN_DIR=" + m.dir})
	require.NotZero(t, code)
	require.Contains(t, out, `clitest.OutputDir: TEST_RUN_ID: "../x" cannot name a run`)
}

// glob returns the paths of what matches below the module's root.
func (m module) glob(pattern string) []string {
	m.t.Helper()
	found, err := filepath.Glob(m.path(pattern))
	require.NoError(m.t, err)
	return found
}

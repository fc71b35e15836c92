package evaltest_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// TestStepsAroundTheAgent has commands change the workspace before, between and after the agent's turns: a replay makes
// their changes by running them again, and those of the agent from the cassette.
func TestStepsAroundTheAgent(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.replace("evals/greet.yaml", "        - uses: builtin:sdd-eval/acp.prompt\n", `
        - run: go mod init example.com/before
        - uses: builtin:sdd-eval/acp.prompt
        - run: go mod edit -module example.com/after
        - uses: builtin:sdd-eval/acp.prompt
        - run: go list -m
`)
	m.replace("scripts/greet.json", `{
  "turns": [`, `{
  "repeat": true,
  "turns": [`)
	m.write("evals/greet.yaml", m.read("evals/greet.yaml")+
		"  - {name: module, type: files, expect: [{path: go.mod, contains: module example.com/after}]}\n")
	suite := m.compile("./evals")
	out, code := suite.test([]string{"EVALTEST_MODE=record"})
	require.Zero(t, code, out)
	require.NotContains(t, m.read(shopCassette), "go.mod", "what the steps did is none of the agent's")
	for range 2 {
		out, code = suite.test(nil)
		require.Zero(t, code, out)
	}
	m.replace("evals/greet.yaml", "example.com/before", "example.com/other")
	out, code = suite.test(nil)
	require.NotZero(t, code, "the agent never saw that module: %s", out)
	require.Contains(t, out, "steps before the agent:")
}

// TestIgnoredFixture changes a file that the workspace begins with although its .gitignore ignores it: as for git, it
// is tracked all the same, also after a command ran.
func TestIgnoredFixture(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.write("fixtures/shop/.gitignore", "stock.txt\n")
	m.replace("evals/greet.yaml", "        - uses: builtin:sdd-eval/acp.prompt\n",
		"        - run: go version\n        - uses: builtin:sdd-eval/acp.prompt\n")
	m.replace("scripts/greet.json", `"do": [{"read": {"path": "README.md"}}]`,
		`"do": [{"disk_write": {"path": "stock.txt", "text": "tea 5\\n"}}]`)
	m.write("evals/greet.yaml", m.read("evals/greet.yaml")+
		"  - {name: stock, type: files, expect: [{path: stock.txt, contains: tea 5}]}\n")
	suite := m.compile("./evals")
	for _, mode := range []string{"record", "replay"} {
		out, code := suite.test([]string{"EVALTEST_MODE=" + mode})
		require.Zero(t, code, "%s: %s", mode, out)
	}
}

// TestTooLarge records an agent that makes more than a cassette keeps: the error names what is large before the session
// is lost, which stays readable in the run's directory. What recordings leave out by default is not counted.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.replace("evals/greet.yaml", "name: greet\n", "name: greet\ncassette: {max_delta: 1000}\n")
	m.replace("scripts/greet.json", `"do": [{"read": {"path": "README.md"}}]`,
		`"do": [{"disk_write": {"path": "DIR/data.txt", "text": "`+strings.Repeat("x", 2000)+`"}}]`)
	script := m.read("scripts/greet.json")
	m.write("scripts/greet.json", strings.Replace(script, "DIR", "big", 1))
	suite, root := m.compile("./evals"), t.TempDir()
	out, code := suite.test([]string{"EVALTEST_MODE=record", "EVALTEST_RUN_DIR=" + root})
	require.NotZero(t, code, out)
	require.Contains(t, out, "the largest: big/data.txt (2.0 KiB)")
	require.Contains(t, out, "next: write `cassette: {exclude: [...]}` in evals/greet.yaml")
	require.NoFileExists(t, m.path(shopCassette))
	runs, err := rundir.List(root)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	r, err := rundir.Open(root, runs[0].ID, nil)
	require.NoError(t, err)
	kept, err := os.ReadFile(filepath.Join(r.UnitDirs("hello", "fake", 1).Artifacts, rundir.Trajectory))
	require.NoError(t, err)
	require.Contains(t, string(kept), `"event":"stop"`)

	m.write("scripts/greet.json", strings.Replace(script, "DIR", "node_modules", 1))
	for _, mode := range []string{"record", "replay"} {
		out, code = suite.test([]string{"EVALTEST_MODE=" + mode})
		require.Zero(t, code, "%s: %s", mode, out)
	}
	require.Contains(t, m.read(shopCassette), `"left_out":["node_modules"]`)
}

// TestLeak records an agent that shows its key: the unit is an error, and there is no cassette.
func TestLeak(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	suite := m.compile("./evals")
	bin := t.TempDir()
	agent, err := helper.Find()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(agent.Path, filepath.Join(bin, "fake-acp")))
	key := "sk-test-" + "0123456789"
	m.write("config/claude-code.toml", "[groups.mine]\nANTHROPIC_API_KEY = \""+key+"\"\n")
	m.replace("evals/greet.yaml", "{kind: fake-acp, args: [../scripts/greet.json]}",
		"{kind: claude-code-acp, preset: mine, command: fake-acp, args: ["+m.path("scripts/greet.json")+"]}")
	env := []string{
		"EVALTEST_MODE=record", "LLMAN_CONFIG_DIR=" + m.path("config"),
		"PATH=" + bin + ":" + os.Getenv("PATH"),
	}
	out, code := suite.test(env)
	require.Zero(t, code, out)
	require.FileExists(t, m.path(shopCassette))
	before := m.read(shopCassette)

	m.replace("scripts/greet.json", `"do": [{"read": {"path": "README.md"}}]`,
		`"do": [{"exec": {"command": "sh", "args": ["-c", "echo key: $ANTHROPIC_API_KEY"]}}]`)
	out, code = suite.test(env)
	require.NotZero(t, code, out)
	require.Contains(t, out, "leak: the session shows the value of ANTHROPIC_API_KEY; no cassette was written")
	require.NotContains(t, out, key)
	require.Equal(t, before, m.read(shopCassette))
}

// TestWorkspaceIsTheModule copies the whole module: recording changes the cassettes in it, which must not make the
// recording stale, and the playbook is not the agent's to see.
func TestWorkspaceIsTheModule(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.replace("evals/greet.yaml", "../fixtures/shop", "..")
	m.write("README.md", "# Shop\n")
	m.write("evals/greet.yaml", m.read("evals/greet.yaml")+
		"  - {name: hidden, type: files, expect: [{path: evals/greet.yaml, exists: false}, "+
		"{path: cassettes, exists: false}, {path: evals/evals_test.go, exists: true}]}\n")
	suite := m.compile("./evals")
	for _, mode := range []string{"record", "record", "replay", "replay"} {
		out, code := suite.test([]string{"EVALTEST_MODE=" + mode})
		require.Zero(t, code, "%s: %s", mode, out)
	}
}

// TestRehearsal records what a replay would judge otherwise: the file that the agent must not write is one that git
// ignores, so that a cassette does not keep it.
func TestRehearsal(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.write("fixtures/shop/.gitignore", "*.log\n")
	m.replace("scripts/greet.json", `"do": [{"read": {"path": "README.md"}}]`,
		`"do": [{"disk_write": {"path": "build.log", "text": "secret plans\\n"}}]`)
	m.write("evals/greet.yaml", m.read("evals/greet.yaml")+
		"  - {name: no-log, type: files, expect: [{path: build.log, exists: false}]}\n")
	out, code := m.compile("./evals").test([]string{"EVALTEST_MODE=record"})
	require.NotZero(t, code, out)
	require.Contains(t, out,
		"no cassette was written, because its replay ends differently: evaluator no-log: live fail")
	require.NoFileExists(t, m.path(shopCassette))
}

// TestSecretsInTexts has an agent print a credential of the environment: the text of the failing expectation shows its
// name.
func TestSecretsInTexts(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	const value = "hunter2-hunter2-hunter2"
	m.replace("scripts/greet.json", `"name": "Read"`, `"name": "Bash", "output": "`+value+`"`)
	m.replace("scripts/greet.json", `"path": "README.md"`, `"path": "`+value+`"`)
	m.replace("evals/greet.yaml", "{tool: Read, args: {path: {path: README.md}}}", "{tool: Bash, args: {path: other}}")
	out, code := m.compile("./evals").test([]string{"EVALTEST_MODE=live", "MY_SERVICE_TOKEN=" + value}, "-test.v")
	require.NotZero(t, code, out)
	require.NotContains(t, out, value)
	require.Contains(t, out, `Bash path="[REDACTED:MY_SERVICE_TOKEN]"`)
}

// TestNullAgent: the run that records a case warns if an agent that does nothing passes it, by what starts nothing, by
// what does, and by checks in Go.
func TestNullAgent(t *testing.T) {
	m := newModule(t)
	m.write("evals/greet.yaml", strings.Split(m.read("evals/greet.yaml"), "evaluators:")[0]+`evaluators:
  - {name: there, type: command, run: grep -q Shop README.md}
sandbox: {allow_commands: [grep]}
`)
	const warning = "warning: evals/greet.yaml:19: an agent that does nothing passes case hello: "
	suite := m.compile("./evals")
	out, code := suite.test([]string{"EVALTEST_MODE=record"}, "-test.v")
	require.Zero(t, code, out)
	require.Equal(t, 1, strings.Count(out, warning), out)
	out, code = suite.test(nil, "-test.v")
	require.Zero(t, code, out)
	require.NotContains(t, out, "an agent that does nothing")

	m.replace("evals/evals_test.go", `evaltest.Describe(t, "*.yaml"`, `evaltest.Describe(t, "*.yaml",
		evaltest.Check("speaks", func(t *evaltest.T, u evaltest.Unit) {
			if u.Run.Answer() == "" {
				t.Errorf("it says nothing")
			}
		})`)
	out, code = m.compile("./evals").test([]string{"EVALTEST_MODE=record"}, "-test.v")
	require.Zero(t, code, out)
	require.NotContains(t, out, "an agent that does nothing")
}

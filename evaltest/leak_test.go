package evaltest_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/testkit/secrettest"
)

// leaksSuite shows what the agent said, and a credential of our own environment, wherever a check can.
const leaksSuite = `package leaks

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
)

func TestLeaks(t *testing.T) {
	evaltest.Describe(t, "leaks.yaml",
		evaltest.Check("fails", func(t *evaltest.T, u evaltest.Unit) {
			assert.Equal(t, "nothing", u.Run.Answer())
			t.Log(u.Run.ToolCalls())
			require.Equal(t, "nothing", os.Getenv("MY_SERVICE_TOKEN"))
		}),
		evaltest.Check("panics", func(t *evaltest.T, u evaltest.Unit) {
			panic(os.Getenv("MY_SERVICE_TOKEN") + u.Run.Answer())
		}),
		evaltest.Check("panics with an error", func(t *evaltest.T, u evaltest.Unit) {
			text, err := os.ReadFile(filepath.Join(u.Workspace, "notes.txt"))
			require.NoError(t, err)
			panic(errors.New(string(text) + u.Run.Answer()))
		}),
	)
}
`

const leaksPlaybook = `name: leaks
cases:
  - {id: talks, prompt: Talk.}
  - {id: writes, prompts: [Talk., Write.]}
variants: {fake: {agent: {kind: claude-code-acp, preset: mine, command: COMMAND, args: [SCRIPT]}}}
workspace: {from: ../fixtures/shop}
sandbox: {allow_commands: [cat]}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [fake]}}
      steps:
        - uses: builtin:sdd-eval/workspace.prepare
        - uses: builtin:sdd-eval/acp.prompt
        - {name: show, run: cat notes.txt}
evaluators:
  - {name: reads, type: tool_trajectory, expected: [{tool: Bash, args: {path: nowhere}}]}
`

// TestLeaksInTests plants secrets in what an agent says and writes and in what checks say of it: `go test -v -json`,
// the JUnit file that gotestsum makes of it, and the run's directory show none.
func TestLeaksInTests(t *testing.T) {
	t.Parallel()
	m, env := leaks(t)
	cmd := exec.Command("go", "test", "-mod=mod", "-v", "-json", "./leaks")
	cmd.Dir = m.dir
	cmd.Env = append(cleanEnviron(), env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	require.IsType(t, new(exec.ExitError), err, "%s", stderr.String())
	noSecrets(t, "go test -json", string(stdout)+stderr.String())
	said := outputs(t, stdout)
	noSecrets(t, "go test", said)
	for _, want := range []string{
		"leaks/talks/fake/fails: FAIL", "leaks/talks/fake/panics: ERROR", "leaks/talks/fake/reads: FAIL",
		"leak: the workspace holds secrets, masked in the copy that is kept: notes.txt: ",
	} {
		require.Contains(t, said, want)
	}
	for secret := range secrettest.Secrets {
		if secret != "INNER_TOKEN" && secret != "OVERLAP_TOKEN" { // some forms of the others hold or overlap theirs
			require.Contains(t, said, "[REDACTED:"+secret+"]")
		}
	}
	require.Contains(t, said, "[REDACTED:MY_SERVICE_TOKEN]")
	require.Contains(t, said, "X=1", "a setting is no secret")

	noSecrets(t, "JUnit", junit(t, stdout))
	found, err := secrettest.ScanDir(filepath.Join(m.dir, "runs"), allTexts()...)
	require.NoError(t, err)
	require.Empty(t, found)
	require.NoDirExists(t, m.path("cassettes"))
}

const ownToken = "hunter2-of-our-own-environment"

func allTexts() []string { return append(secrettest.Texts(), ownToken, ownToken[:len(ownToken)/2]) }

func noSecrets(t *testing.T, what, text string) {
	t.Helper()
	require.NotEmpty(t, text, what)
	require.Empty(t, secrettest.Scan(text, allTexts()...), what)
}

// leaks makes a module with the suite, and returns the variables that it is to be run with.
func leaks(t *testing.T) (module, []string) {
	t.Helper()
	m := newModule(t)
	m.write("leaks/leaks_test.go", leaksSuite)
	outside := t.TempDir()
	text := secrettest.AllForms()
	script := scripted.Script{Repeat: true, Turns: []scripted.Turn{
		{Actions: []scripted.Action{
			{DiskWrite: &scripted.DiskWrite{Path: "notes.txt", Text: "nothing"}},
			{Tool: &scripted.Tool{Name: "Bash", Title: text, Input: map[string]any{"path": text}, Output: text}},
			{Say: &scripted.Say{Text: text, Chunks: len(text) / 9}},
		}},
		{Actions: []scripted.Action{{DiskWrite: &scripted.DiskWrite{Path: "notes.txt", Text: text}}}},
	}}
	data, err := json.Marshal(script)
	require.NoError(t, err)
	for name, text := range map[string]string{
		"script.json": string(data), "claude-code.toml": secrettest.Preset("mine"), "agent.stderr": text,
		// It writes to standard error in pieces of seven bytes, then becomes the scripted agent.
		"agent": "#!/bin/sh\ndd if=\"$0.stderr\" bs=7 1>&2 2>/dev/null\nexec fake-acp \"$@\"\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(outside, name), []byte(text), 0o755))
	}
	agent, err := helper.Find()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(agent.Path, filepath.Join(outside, "fake-acp")))
	m.write("leaks/leaks.yaml", strings.NewReplacer(
		"COMMAND", filepath.Join(outside, "agent"), "SCRIPT", filepath.Join(outside, "script.json"),
	).Replace(leaksPlaybook))
	return m, []string{
		"EVALTEST_MODE=live", "EVALTEST_RUN_DIR=" + m.path("runs"), "LLMAN_CONFIG_DIR=" + outside,
		"MY_SERVICE_TOKEN=" + ownToken,
		"PATH=" + outside + ":" + os.Getenv("PATH"),
	}
}

// outputs returns the texts in the output of `go test -json`.
func outputs(t *testing.T, out []byte) string {
	t.Helper()
	var all strings.Builder
	for line := range bytes.Lines(out) {
		var event struct{ Output string }
		require.NoError(t, json.Unmarshal(line, &event), "%s", line)
		all.WriteString(event.Output)
	}
	return all.String()
}

// junit returns the file that gotestsum makes of the output of `go test -json`.
func junit(t *testing.T, out []byte) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "out.json"), out, 0o644))
	file := filepath.Join(dir, "junit.xml")
	cmd := exec.Command("go", "tool", "gotestsum", "--junitfile", file, "--raw-command", "--", "cat",
		filepath.Join(dir, "out.json"))
	said, err := cmd.CombinedOutput()
	require.FileExists(t, file, "%v: %s", err, said)
	noSecrets(t, "gotestsum", string(said))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(data, new(struct{})))
	require.Contains(t, string(data), "[REDACTED:")
	return string(data)
}

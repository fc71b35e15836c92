package cli

import (
	"bytes"
	_ "embed"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/convert/atif"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
)

const importPlaybook = `name: fix
task: {title: Fix, prompt: Fix it.}
variants:
  claude: {agent: {kind: claude-code-acp, preset: mine}}
  codex: {agent: {kind: codex-acp, preset: mine}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [claude, codex]}}
      steps:
        - uses: builtin:sdd-eval/workspace.prepare
        - uses: builtin:sdd-eval/acp.prompt
evaluators:
  - {name: tests, type: tool_trajectory, expected: [{tool: Bash}]}
`

//go:embed testdata/transcript.jsonl
var transcript string

// transcriptOf returns a transcript of Claude Code with that prompt, and that output of a command.
func transcriptOf(prompt, output string) string {
	return strings.NewReplacer("PROMPT", prompt, "OUTPUT", output).Replace(transcript)
}

// importProject has a playbook and a transcript.
func importProject(t *testing.T) string {
	t.Helper()
	dir := projectDir(t)
	for file, text := range map[string]string{
		"evals/fix.yaml": importPlaybook,
		"ok.jsonl":       transcriptOf("Fix it.", "done"),
		"other.jsonl":    transcriptOf("Break it.", "done"),
		"cut.jsonl":      "{\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, file), []byte(text), 0o644))
	}
	return dir
}

func TestCassetteImport(t *testing.T) {
	dir := importProject(t)
	args := []string{
		"cassette", "import", "--from", "claude", "--playbook", "evals/fix.yaml", "--unit",
		"fix/task/claude/1", "ok.jsonl",
	}
	file := filepath.Join("cassettes", "evals", "fix", "task", "claude.1.jsonl")
	require.Equal(t, called{exitOK, file + "\n", ""}, call(t, dir, args...))
	c, err := cassette.Read(filepath.Join(dir, file))
	require.NoError(t, err)
	now := c.Header.Fingerprints
	require.Equal(t, cassette.Fingerprints{
		Kind: "claude-code-acp", Command: now.Command, Permissions: now.Permissions, Workspace: now.Workspace,
	}, now)
	require.Contains(t, now.Workspace.ByPath, "ok.jsonl")
	require.Equal(t, cassette.Header{
		Version: cassette.Version, Level: cassette.LevelRun, Unit: "fix/task/claude/1",
		Origin:        "imported from claude 2.1.0",
		Agent:         trajectory.Agent{Kind: "claude-code-acp", Name: "claude-code", Version: "2.1.0", Model: "opus"},
		ClientVersion: engine.Version, RecordedAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Fingerprints: now,
	}, c.Header)
	require.Equal(t, map[string]any{"command": "cat $WORKSPACE/a"},
		c.Turns[0].Events[1].Body.(trajectory.ToolStart).Args)

	again := call(t, dir, args...)
	require.Equal(t, exitUsage, again.code)
	require.Contains(t, again.stderr, "fix/task/claude/1 already has a recording, "+file+": --force replaces it")
	require.Equal(t, exitOK, call(t, dir, append(args, "--force")...).code)
}

// A session that shows a secret is imported without it.
func TestCassetteImportMasks(t *testing.T) {
	dir := importProject(t)
	key := "sk-" + "test-not-a-key-1234"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "ok.jsonl"), []byte(transcriptOf("Fix it.", "key "+key)), 0o644))
	var stdout, stderr bytes.Buffer
	a := App{
		Args: []string{
			"cassette", "import", "--from", "claude", "--playbook", "evals/fix.yaml", "--unit",
			"fix/task/claude/1", "ok.jsonl",
		},
		Stdout: &stdout, Stderr: &stderr, Dir: dir, Getenv: func(string) string { return "" },
		Environ: []string{"SHOP_API_KEY=" + key}, Now: time.Now,
	}
	require.Equal(t, exitOK, a.Run(t.Context()), stderr.String())
	require.Equal(t, "left out: secrets, which are masked\n", stderr.String())
	data, err := os.ReadFile(filepath.Join(dir, strings.TrimSpace(stdout.String())))
	require.NoError(t, err)
	require.NotContains(t, string(data), key)
	require.Contains(t, string(data), "key [REDACTED:")
}

func TestCassetteImportErrors(t *testing.T) {
	dir := importProject(t)
	const from = "cassette import --playbook evals/fix.yaml "
	tests := []struct {
		name, args string
		code       int
		want       string
	}{
		{
			"no unit", from + "--from claude ok.jsonl", exitUsage,
			"cassette import: evals/fix.yaml has 2 units: choose one with --unit, such as fix/task/claude/1",
		},
		{
			"an unknown unit", from + "--from claude --unit fix/task/claud/1 ok.jsonl", exitUsage,
			`cassette import: evals/fix.yaml has no unit "fix/task/claud/1", did you mean "fix/task/claude/1"?`,
		},
		{
			"another kind of agent", from + "--from claude --unit fix/task/codex/1 ok.jsonl", exitUsage,
			"cassette import: --from claude is for agents of kind claude-code-acp, but fix/task/codex/1 has kind " +
				"codex-acp",
		},
		{
			"another prompt", from + "--from claude --unit fix/task/claude/1 other.jsonl", exitUsage,
			`cassette import: other.jsonl: the session does not match fix/task/claude/1: ` +
				`prompt 1 is "Fix it." in the playbook, and "Break it." in the session`,
		},
		{"no file", from + "--from claude --unit fix/task/claude/1 none.jsonl", exitUsage, "none.jsonl: no such file"},
		{
			"a broken file", from + "--from claude --unit fix/task/claude/1 cut.jsonl", exitHarness,
			"cassette import: " + filepath.Join(dir, "cut.jsonl") +
				":1: this is not JSON: the text is incomplete: unexpected EOF",
		},
		{
			"another format", from + "--from codex --unit fix/task/codex/1 ok.jsonl", exitHarness,
			"cassette import: " + filepath.Join(dir, "ok.jsonl") +
				`:1: the line of type "user" has no payload: this is not a rollout`,
		},
		{
			"no playbook", "cassette import --from claude --playbook evals/none.yaml ok.jsonl", exitUsage,
			"evals/none.yaml",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, dir, strings.Fields(tt.args)...)
			require.Equal(t, tt.code, got.code, got.stderr)
			require.Contains(t, got.stderr, tt.want)
			require.Empty(t, got.stdout)
			require.NoDirExists(t, filepath.Join(dir, "cassettes"))
		})
	}
}

// What is exported is a trajectory, and is imported again.
func TestCassetteExport(t *testing.T) {
	dir := importProject(t)
	require.NoError(t, cassette.Write(disk.Tree(dir), filepath.Join(dir, "a.1.jsonl"), everything()))
	got := call(t, dir, "cassette", "export", "--to", "atif", "a.1.jsonl")
	require.Equal(t, exitOK, got.code, got.stderr)
	_, err := atif.Decode(strings.NewReader(got.stdout))
	require.NoError(t, err)

	require.Equal(t, exitOK,
		call(t, dir, strings.Fields(
			"cassette import --from claude --playbook evals/fix.yaml --unit fix/task/claude/1 ok.jsonl")...).code)
	imported := filepath.Join("cassettes", "evals", "fix", "task", "claude.1.jsonl")
	got = call(t, dir, "cassette", "export", "--to", "atif", imported)
	require.Equal(t, exitOK, got.code, got.stderr)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "t.json"), []byte(got.stdout), 0o644))
	got = call(t, dir,
		strings.Fields("cassette import --from atif --playbook evals/fix.yaml --unit fix/task/codex/1 t.json")...)
	require.Equal(t, exitOK, got.code, got.stderr)
	one, err := cassette.Read(filepath.Join(dir, imported))
	require.NoError(t, err)
	two, err := cassette.Read(filepath.Join(dir, strings.TrimSpace(got.stdout)))
	require.NoError(t, err)
	require.Equal(t, one.Turns, two.Turns)

	require.Equal(t, exitUsage, call(t, dir, "cassette", "export", "a.1.jsonl").code)
	require.Equal(t, exitUsage, call(t, dir, "cassette", "export", "--to", "atif", "none.jsonl").code)
	require.Equal(t, exitHarness, call(t, dir, "cassette", "export", "--to", "atif", "t.json").code)
}

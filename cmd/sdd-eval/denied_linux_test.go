package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
)

const deniedPlaybook = `name: denied
task: {prompt: Get out.}
variants: {a: {agent: {kind: fake-acp, args: [SCRIPT]}}}
sandbox: {allow_commands: [echo]}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`

// TestDenied has an agent ask its client for what is outside the workspace, in every way there is. Each denial is in
// the session log and in the metrics, without content, and nothing outside is read or changed.
func TestDenied(t *testing.T) {
	t.Parallel()
	const content = "what is outside"
	outside := t.TempDir()
	secret := filepath.Join(outside, "secret")
	require.NoError(t, os.WriteFile(secret, []byte(content), 0o644))
	require.NoError(t, syscall.Mkfifo(filepath.Join(outside, "fifo"), 0o644))
	shell := func(lines ...string) scripted.Action {
		return scripted.Action{Exec: &scripted.Exec{Command: "sh", Args: []string{"-c", strings.Join(lines, "; ")}}}
	}
	actions := []scripted.Action{
		shell("ln -s "+secret+" absolute", "ln "+secret+" hard", "ln -s "+outside+" out", "ln -s / slash"),
		shell("mkfifo fifo"),
		shell(`ln -s "$(realpath --relative-to=. `+secret+`)" relative`, `printf 'a\377b' > binary`,
			"mkdir ../workspace-evil", "echo x > ../workspace-evil/file"),
	}
	do := func(a scripted.Action) {
		actions = append(actions, scripted.Action{Tool: &scripted.Tool{Title: "Try", Do: []scripted.Action{a}}})
	}
	reads := []string{
		secret, "../workspace-evil/file", "../../../../../manifest.json", "absolute", "relative", "out/secret",
		"slash" + secret, "/proc/self/root" + secret, "fifo", "hard", "absolute/", "/dev/zero", "slash/dev/zero",
		".", "../workspace/hard",
	}
	relative := []string{"../../../../.ssh/id_rsa", "a.txt"} // on the wire: a script's paths are made absolute
	for _, path := range relative {
		params := map[string]any{"sessionId": "session-1", "path": path, "content": "changed"}
		for _, method := range []string{"fs/read_text_file", "fs/write_text_file"} {
			do(scripted.Action{Request: &scripted.Request{Method: method, Params: params}})
		}
	}
	for _, path := range reads {
		do(scripted.Action{Read: &scripted.Read{Path: path}})
	}
	writes := []string{
		secret, "../workspace-evil/file", "out/secret", "slash" + secret, "/proc/self/root" + secret, "fifo",
		"/dev/null",
	}
	for _, path := range writes {
		do(scripted.Action{Write: &scripted.Write{Path: path, Text: "changed"}})
	}
	for _, answered := range []string{"binary", "nothing", "binary/"} { // errors, but no denials
		do(scripted.Action{Read: &scripted.Read{Path: answered}})
	}
	// Writes to these replace the link by a file inside.
	for _, replaced := range []string{"absolute", "relative", "hard"} {
		do(scripted.Action{Write: &scripted.Write{Path: replaced, Text: "changed"}})
	}
	commands := []scripted.Terminal{
		{Command: "sh", Args: []string{"-c", "true"}},
		{Command: "./echo"},
		{Command: "echo", Cwd: "out"},
		{Command: "echo", Cwd: outside},
	}
	for _, c := range commands {
		do(scripted.Action{Terminal: &c})
	}
	preload := map[string]string{"LD_PRELOAD": "x.so", "PATH": "."}
	do(scripted.Action{Terminal: &scripted.Terminal{Command: "echo", Env: preload}})
	// The last command runs without its variables.
	want := 2*len(relative) + len(reads) + len(writes) + len(commands) + len(preload)

	actions = append(actions, shell("cp ../workspace-evil/file evil-at-the-end"))

	script, err := json.Marshal(scripted.Script{Turns: []scripted.Turn{{Actions: actions}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(outside, "script.json"), script, 0o644))
	dir := project(t, strings.Replace(deniedPlaybook, "SCRIPT", filepath.Join(outside, "script.json"), 1))
	out, err := command(dir, "run", "--playbook", "p.yaml", "--sandbox", "none").CombinedOutput()
	require.NoError(t, err, "%s", out)

	unit := filepath.Join(runs(t, dir)[0], "variants", "a")
	log, err := os.ReadFile(filepath.Join(unit, "logs", "acp-session.jsonl"))
	require.NoError(t, err)
	assert.Equal(t, want, strings.Count(string(log), `"kind":"denied"`))
	assert.NotContains(t, string(log), content)
	data, err := os.ReadFile(filepath.Join(unit, "artifacts", "acp-metrics.json"))
	require.NoError(t, err)
	var metrics struct {
		Denied []struct{ Op, Path, Reason string } `json:"denied_operations"`
	}
	require.NoError(t, json.Unmarshal(data, &metrics))
	assert.Len(t, metrics.Denied, want)
	beside := filepath.Join(unit, "workspace", "evil-at-the-end")
	for path, text := range map[string]string{secret: content, beside: "x\n"} {
		got, err := os.ReadFile(path)
		require.NoError(t, err)
		assert.Equal(t, text, string(got), path)
	}
}

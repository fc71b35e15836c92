package main

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/testkit/secrettest"
)

// leaky is a project whose agents show secrets wherever they can, each variant by a script of its own, and a directory
// beside it with the account, the scripts and what they are made of.
type leaky struct {
	t            *testing.T
	dir, outside string
}

const leakyPlaybook = `name: leaky
task: {prompt: Do it.}
variants:
  VARIANT: {agent: {kind: claude-code-acp, preset: mine, command: COMMAND, args: [SCRIPT]}}
sandbox: {allow_commands: [cat, printf]}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [VARIANT]}}
      steps:
        - uses: builtin:sdd-eval/workspace.prepare
        - uses: builtin:sdd-eval/acp.prompt
STEPS
    report: {needs: [eval], steps: [{uses: builtin:sdd-eval/report.generate}]}
evaluators:
  - {name: reads, type: tool_trajectory, expected: [{tool: Bash, args: {path: nowhere}}]}
  - {name: writes, type: files, expect: [{path: notes.txt, equals: nothing}]}
`

// wrapper writes a file to standard error in pieces of seven bytes, then becomes the scripted agent.
const wrapper = `#!/bin/sh
dd if="$0.stderr" bs=7 1>&2 2>/dev/null
exec fake-acp "$@"
`

func newLeaky(t *testing.T) leaky {
	t.Helper()
	if _, err := exec.LookPath("dd"); err != nil {
		t.Skip("needs a shell and dd")
	}
	l := leaky{t, t.TempDir(), t.TempDir()}
	l.write("claude-code.toml", secrettest.Preset("mine"), 0o600)
	l.write("agent", wrapper, 0o755)
	l.write("agent.stderr", "", 0o644)
	agent, err := helper.Find()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(agent.Path, filepath.Join(l.outside, "fake-acp")))
	return l
}

// write writes a file beside the project.
func (l leaky) write(name, text string, perm os.FileMode) {
	l.t.Helper()
	require.NoError(l.t, os.WriteFile(filepath.Join(l.outside, name), []byte(text), perm))
}

// playbook writes a playbook with one variant, whose agent plays the script, and further steps.
func (l leaky) playbook(variant string, script scripted.Script, steps ...string) {
	l.t.Helper()
	data, err := json.Marshal(script)
	require.NoError(l.t, err)
	l.write("script.json", string(data), 0o644)
	text := strings.NewReplacer(
		"VARIANT", variant, "COMMAND", filepath.Join(l.outside, "agent"),
		"SCRIPT", filepath.Join(l.outside, "script.json"),
		"STEPS\n", strings.Join(steps, ""),
	).Replace(leakyPlaybook)
	require.NoError(l.t, os.WriteFile(filepath.Join(l.dir, "p.yaml"), []byte(text), 0o644))
}

// run runs the command and returns its exit code and all that it said, in which no secret is.
func (l leaky) run(args ...string) (said string, code int) {
	l.t.Helper()
	c := command(l.dir, args...)
	c.Env = append(c.Env, "LLMAN_CONFIG_DIR="+l.outside, "PATH="+l.outside+":"+os.Getenv("PATH"))
	out, err := c.CombinedOutput()
	if err != nil {
		require.IsType(l.t, new(exec.ExitError), err)
	}
	require.Empty(l.t, secrettest.Scan(string(out), secrettest.Texts()...), "said by %q", args)
	return string(out), c.ProcessState.ExitCode()
}

// clean holds that no secret is anywhere in the project, and that JSON is JSON. It returns the directory of the run.
func (l leaky) clean() string {
	l.t.Helper()
	found, err := secrettest.ScanDir(l.dir, secrettest.Texts()...)
	require.NoError(l.t, err)
	require.Empty(l.t, found)
	all := runs(l.t, l.dir)
	require.NotEmpty(l.t, all)
	run := all[len(all)-1]
	require.NoError(l.t, filepath.WalkDir(run, func(path string, e fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err == nil && e.Type().IsRegular() && (ext == ".json" || ext == ".jsonl") {
			validJSON(l.t, path)
		}
		return err
	}))
	return run
}

func validJSON(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	for d := json.NewDecoder(bytes.NewReader(data)); d.More(); {
		var v any
		require.NoError(t, d.Decode(&v), path)
	}
}

// read returns a file of a run.
func (l leaky) read(run, name string) string {
	l.t.Helper()
	data, err := os.ReadFile(filepath.Join(run, filepath.FromSlash(name)))
	require.NoError(l.t, err)
	return string(data)
}

// masked holds that files of the run show each secret by its name: what was planted came that far. Reports cut what is
// long.
func (l leaky) masked(run string, files ...string) {
	l.t.Helper()
	for _, name := range files {
		text := l.read(run, name)
		assert.True(l.t, strings.Contains(text, "[REDACTED:"), "%s shows no secret by its name", name)
		if strings.HasPrefix(name, "report") {
			continue
		}
		for secret := range secrettest.Secrets {
			if secret == "INNER_TOKEN" || secret == "OVERLAP_TOKEN" {
				continue // some forms of the others hold or overlap theirs
			}
			masked := strings.Contains(text, "[REDACTED:"+secret+"]")
			assert.True(l.t, masked, "%s does not show %s by its name", name, secret)
		}
	}
}

// talk shows the text in everything that an agent can say.
func talk(text string) []scripted.Action {
	denied := scripted.Tool{
		Title: text, Kind: "read",
		Do: []scripted.Action{{Read: &scripted.Read{Path: "/outside/" + text}}},
	}
	return []scripted.Action{
		{Say: &scripted.Say{Text: text, Chunks: len(text) / 9}},
		{Think: &scripted.Think{Text: text, Chunks: len(text) / 9}},
		{Plan: scripted.Plan{{Content: text}}},
		{Tool: &scripted.Tool{
			Name: "Bash", Title: text, Kind: "execute", Input: map[string]any{"path": text, text: []any{text}},
			Locations: []scripted.Location{{Path: text}}, Diff: &scripted.Diff{Path: text, Old: &text, New: text},
			Ask:    &scripted.Ask{Options: []scripted.PermissionOption{{ID: text, Name: text, Kind: "allow_once"}}},
			Output: map[string]any{"stdout": text},
		}},
		{Tool: &scripted.Tool{Name: text, Title: "Terminal", Kind: "execute", Do: []scripted.Action{
			{
				Terminal: &scripted.Terminal{
					Command: "printf", Args: []string{"%s", text},
					Env: map[string]string{"LD_PRELOAD": text, "A": text},
				},
			},
		}}},
		{Tool: &scripted.Tool{Title: "Refused", Do: []scripted.Action{{Terminal: &scripted.Terminal{Command: text}}}}},
		{Tool: &denied},
		{
			Tool: &scripted.Tool{
				Title: "Unknown",
				Do:    []scripted.Action{{Request: &scripted.Request{Method: text, Params: text}}},
			},
		},
		{Update: scripted.Update{"sessionUpdate": "current_mode_update", "currentModeId": text}},
		{Update: scripted.Update{"sessionUpdate": "something_new", text: text}},
		{Raw: scripted.Raw("{\"jsonrpc\": " + strings.ReplaceAll(text, "\n", " "))},
		{Usage: &scripted.Usage{Used: 1, Size: 2}},
	}
}

// TestLeaksInTalk plants secrets in all that an agent says. A live run masks them; of a session that shows one there is
// no cassette.
func TestLeaksInTalk(t *testing.T) {
	t.Parallel()
	l := newLeaky(t)
	text := secrettest.AllForms()
	l.write("agent.stderr", text, 0o644)
	l.playbook("talks", scripted.Script{Name: text, Version: text, Turns: []scripted.Turn{{Actions: talk(text)}}})
	said, code := l.run("run", "--playbook", "p.yaml", "--sandbox", "none")
	require.Equal(t, 1, code, "%s", said)
	run := l.clean()
	l.masked(run, "variants/talks/logs/acp-session.jsonl", "variants/talks/artifacts/trajectory.json",
		"variants/talks/artifacts/acp-metrics.json", "results.jsonl", "report.junit.xml", "report.html")
	log := l.read(run, "variants/talks/logs/acp-session.jsonl")
	for name, value := range secrettest.Settings {
		assert.True(t, strings.Contains(log, name+"="+value), "%s is no secret", name)
	}
	for _, args := range [][]string{{"show", "latest"}, {"list"}, {"report", "--run", "latest"}} {
		l.run(args...)
	}

	said, code = l.run("run", "--playbook", "p.yaml", "--sandbox", "none", "--mode", "record")
	require.Equal(t, 3, code, "%s", said)
	require.Contains(t, said, "leak: ")
	l.noCassette()
}

// noCassette holds that nothing was recorded.
func (l leaky) noCassette() {
	l.t.Helper()
	l.clean()
	left, err := filepath.Glob(filepath.Join(l.dir, "cassettes", "*", "*", "*"))
	require.NoError(l.t, err)
	require.Empty(l.t, left)
}

// TestLeaksInFiles plants secrets in what files hold, what they are called and where links lead, through the client and
// behind its back. Run steps and evaluators show the files before they are masked. The unit is an error that names
// them.
func TestLeaksInFiles(t *testing.T) {
	t.Parallel()
	l := newLeaky(t)
	text := secrettest.AllForms()
	object, err := json.Marshal(secrettest.Secrets)
	require.NoError(t, err)
	actions := []scripted.Action{
		{Write: &scripted.Write{Path: "notes.txt", Text: text}},
		{Write: &scripted.Write{Path: "a.json", Text: string(object)}},
		{DiskWrite: &scripted.DiskWrite{Path: ".gitignore", Text: "*.log\n"}},
		{DiskWrite: &scripted.DiskWrite{Path: "ignored.log", Text: text}},
		{DiskWrite: &scripted.DiskWrite{Path: "binary", Text: "\x00\x01" + text + "\x00"}},
		{Exec: &scripted.Exec{Command: "ln", Args: []string{"-s", secrettest.Secrets["SERVICE_TOKEN"], "link"}}},
		{Exec: &scripted.Exec{Command: "ln", Args: []string{"ignored.log", "hard"}}},
	}
	for _, value := range secrettest.Secrets {
		for _, form := range secrettest.Forms(value) {
			if !strings.ContainsAny(form, "/\n") {
				file := scripted.DiskWrite{Path: "d-" + form + "/" + form, Text: "x"}
				actions = append(actions, scripted.Action{DiskWrite: &file})
			}
		}
	}
	for _, mode := range []string{"live", "record"} {
		l.playbook("writes", scripted.Script{Turns: []scripted.Turn{{Actions: actions}}},
			"        - run: cat notes.txt a.json\n",
			"        - run: git diff --no-index --exit-code .gitignore notes.txt\n")
		said, code := l.run("run", "--playbook", "p.yaml", "--sandbox", "none", "--mode", mode)
		require.Equal(t, 3, code, "%s", said)
		for _, name := range []string{
			"notes.txt", "a.json", "ignored.log", "binary", "link", "hard", "d-[REDACTED:SERVICE_TOKEN]",
		} {
			require.Regexp(t, `leak: .*`+regexp.QuoteMeta(name)+": ", said)
		}
		l.noCassette()
		all := runs(t, l.dir)
		run := all[len(all)-1]
		l.masked(run, "results.jsonl", "variants/writes/logs/acp-session.jsonl", "variants/writes/workspace/notes.txt",
			"variants/writes/workspace/ignored.log", "variants/writes/workspace/binary",
			"variants/writes/artifacts/workspace.diff",
			"report.junit.xml")
		require.Contains(t, l.read(run, "results.jsonl"), `"outcome":"error","reason":"leak: `)
	}
}

// TestLeaksInEnds plants secrets in what an agent says last: its answer is an error, it panics, or it never gets
// started.
func TestLeaksInEnds(t *testing.T) {
	t.Parallel()
	text := secrettest.AllForms()
	panics := "panic: " + text + "\n\ngoroutine 1 [running]:\nmain.main()\n\t/" + text + "/main.go:1 +0x1d\n"
	tests := []struct {
		name, reason string
		stderr       string
		script       scripted.Script
	}{
		{
			name: "answers", reason: "the text of an error",
			script: scripted.Script{
				Turns: []scripted.Turn{{Error: &scripted.Error{Code: -32603, Message: text, Data: text}}},
			},
		},
		{
			name: "panics", reason: "the last words of a process", stderr: panics,
			script: scripted.Script{
				Turns: []scripted.Turn{{Actions: []scripted.Action{{Exit: &scripted.Exit{Code: 2}}}}},
			},
		},
		{
			name: "never-starts", reason: "the last words of one that says nothing else", stderr: panics,
			script: scripted.Script{Faults: scripted.Faults{Exit: new(2)}},
		},
		{
			name: "claims", reason: "a stop reason that there is not",
			script: scripted.Script{Turns: []scripted.Turn{{Stop: text}}},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLeaky(t)
			l.write("agent.stderr", tt.stderr, 0o644)
			l.playbook(tt.name, tt.script)
			said, code := l.run("run", "--playbook", "p.yaml", "--sandbox", "none")
			require.Equal(t, 3, code, "%s: %s", tt.reason, said)
			run := l.clean()
			assert.Contains(t, l.read(run, "results.jsonl"), "[REDACTED:", tt.reason)
			assert.Contains(t, l.read(run, "report.junit.xml"), "[REDACTED:", tt.reason)
		})
	}
}

// TestLeaksInCassettes has an agent whose name alone is a secret: all parts of a session are searched before it is
// recorded.
func TestLeaksInCassettes(t *testing.T) {
	t.Parallel()
	l := newLeaky(t)
	actions := []scripted.Action{
		{Tool: &scripted.Tool{Name: "Bash", Title: "Run", Input: map[string]any{"path": "nowhere"}}},
		{DiskWrite: &scripted.DiskWrite{Path: "notes.txt", Text: "nothing"}},
	}
	l.playbook("named", scripted.Script{
		Name: secrettest.Secrets["SERVICE_TOKEN"], Turns: []scripted.Turn{{Actions: actions}},
	})
	said, code := l.run("run", "--playbook", "p.yaml", "--sandbox", "none", "--mode", "record")
	require.Equal(t, 3, code, "%s", said)
	require.Contains(t, said, "leak: ")
	l.noCassette()
}

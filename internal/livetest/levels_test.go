package livetest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// project is a directory of playbooks that the command runs with the real agents.
type project struct {
	t             *testing.T
	root          string
	program       string
	path, presets string
	playbook      string // below root
	env           []string
}

// newProject makes a project with a playbook of this repository, changed by pairs of texts, with its golden files and
// the fixture that it uses. Its model follows scripts in a directory.
func newProject(t *testing.T, models, playbook string, changes ...string) project {
	t.Helper()
	bin := agentsBin(t)
	servers, err := filepath.Abs("../../fixtures/mcp/node_modules/.bin")
	require.NoError(t, err)
	requireAgents(t, bin)
	p := project{
		t: t, root: t.TempDir(), program: buildCommand(t), presets: startModel(t, models),
		playbook: "evals/suite/p.yaml",
		path:     strings.Join([]string{bin, servers, os.Getenv("PATH")}, string(os.PathListSeparator)),
	}
	require.NoError(t, os.CopyFS(filepath.Join(p.root, "fixtures/inventory"), os.DirFS("../../fixtures/inventory")))
	require.NoError(t, os.MkdirAll(filepath.Join(p.root, "evals/suite"), 0o755))
	if golden := filepath.Join(filepath.Dir(playbook), "golden"); exists(golden) {
		require.NoError(t, os.CopyFS(filepath.Join(p.root, "evals/suite/golden"), os.DirFS(golden)))
	}
	text, err := os.ReadFile(playbook)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(p.root, p.playbook), text, 0o644))
	p.change(changes...)
	return p
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// change replaces texts, which must be there, in the playbook.
func (p project) change(pairs ...string) {
	p.t.Helper()
	file := filepath.Join(p.root, p.playbook)
	text, err := os.ReadFile(file)
	require.NoError(p.t, err)
	for i := 0; i < len(pairs); i += 2 {
		require.Contains(p.t, string(text), pairs[i])
	}
	require.NoError(p.t, os.WriteFile(file, []byte(strings.NewReplacer(pairs...).Replace(string(text))), 0o644))
}

// run runs the playbook in a mode and returns what the command said, its exit code and the run. The key of the agents'
// accounts is nowhere in the project afterwards.
func (p project) run(mode string) (string, int, *rundir.Run) {
	p.t.Helper()
	run := exec.Command(p.program, "run", "--playbook", p.playbook, "--config-dir", p.presets, "--mode", mode)
	run.Dir = p.root
	run.Env = append(os.Environ(), "PATH="+p.path, "EVALTEST_RECORD_IN_CI=1")
	run.Env = append(run.Env, p.env...)
	var stdout, stderr bytes.Buffer
	run.Stdout, run.Stderr = &stdout, &stderr
	if err := run.Run(); err != nil {
		require.IsType(p.t, new(exec.ExitError), err)
	}
	r, err := rundir.Open(p.root, filepath.Base(strings.TrimSpace(stdout.String())), nil)
	require.NoError(p.t, err, "%s", &stderr)
	const key = "sk-test-" + "not-a-key" // of the presets
	require.NotContains(p.t, stdout.String()+stderr.String(), key)
	require.NoError(p.t, filepath.WalkDir(p.root, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		require.False(p.t, bytes.Contains(data, []byte(key)), path)
		return err
	}))
	return stderr.String(), run.ProcessState.ExitCode(), r
}

// passes runs the playbook in a mode, expects that its only unit passes, and returns the events of it without their
// times.
func (p project) passes(mode string) []trajectory.Body {
	p.t.Helper()
	said, code, r := p.run(mode)
	require.Zero(p.t, code, said)
	require.NotContains(p.t, said, "reordered")
	units, err := r.Units()
	require.NoError(p.t, err)
	require.Len(p.t, units, 1)
	require.False(p.t, units[0].Replayed, "the agent ran")
	data, err := os.ReadFile(filepath.Join(r.UnitDirs(units[0].Case, units[0].Variant, 1).Artifacts, "trajectory.json"))
	require.NoError(p.t, err)
	var run trajectory.Run
	require.NoError(p.t, json.Unmarshal(data, &run))
	bodies := make([]trajectory.Body, len(run.Events))
	for i, e := range run.Events {
		bodies[i] = e.Body
	}
	return bodies
}

// TestRealClientLevel has the agent that uses files and terminals of its client run against what was recorded of them:
// it does the very same, though nothing of it runs again.
func TestRealClientLevel(t *testing.T) {
	t.Parallel()
	p := newProject(t, "../../fixtures/models", "../../evals/fix-bug/fix-bug.yaml",
		"  claude:\n    agent: {kind: claude-code-acp, preset: loopback}\n", "",
		"  codex:\n    agent: {kind: codex-acp, preset: loopback}\n", "",
		"variant: [claude, claude-client, codex]", "variant: [claude-client]",
		"cassette:\n", "cassette:\n  level: client\n",
	)
	recorded := p.passes("record")
	c, err := cassette.Read(filepath.Join(p.root, "cassettes/evals/suite/p/task/claude-client.1.jsonl"))
	require.NoError(t, err)
	require.Equal(t, "client", c.Header.Level)
	require.Equal(t, recorded, p.passes("replay"))

	p.change("and run the tests.", "and run the tests. Thank you!")
	require.Len(t, p.passes("replay"), len(recorded), "another prompt against the same tools")

	p.change("level: client\n",
		"level: client\n  overrides: [{tool: fs/read_text_file, nth: 1, error: no such file}]\n")
	said, code, _ := p.run("replay")
	require.Equal(t, 3, code, said)
	require.Contains(t, said, "stale cassette")
	require.Contains(t, said, "no such file")
}

// TestRealMCPLevel has each real agent call a real MCP server, and then what was recorded of it, with the server gone.
// Claude without its adapter, which has no such level, calls the server as with it.
func TestRealMCPLevel(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("../../fixtures/mcp/node_modules/.bin/mcp-server-everything"); err != nil &&
		os.Getenv("CI") == "" {
		t.Skip("the MCP servers are not installed: `make mcp` installs them with npm")
	}
	for _, agent := range []string{"claude", "claude-client", "copilot"} {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			p := newProject(t, "testdata/mcp-models", "testdata/mcp.yaml", "variant: [claude, claude-client, copilot]",
				"variant: ["+agent+"]")
			recorded := p.passes("record")
			require.True(t, slices.ContainsFunc(recorded, func(b trajectory.Body) bool {
				c, ok := b.(trajectory.MCPCall)
				return ok && c.Server == "everything" && c.Tool == "get-sum"
			}), "%v", recorded)
			if agent == "claude" {
				cli := newProject(t, "testdata/mcp-models", "testdata/mcp.yaml",
					"variant: [claude, claude-client, copilot]", "variant: [claude]",
					"claude: {agent: {kind: claude-code-acp", "claude: {agent: {kind: claude-cli",
					"cassette: {level: mcp}\n", "")
				require.Equal(t, calls(recorded), calls(cli.passes("record")))
			}
			p.change("command: [mcp-server-everything, stdio]", "command: [mcp-server-everything, gone]")
			said, code, _ := p.run("replay")
			require.Equal(t, 3, code, said)
			require.Contains(t, said, "MCP servers")
			p.change("command: [mcp-server-everything, gone]", "command: [mcp-server-everything, stdio]")
			p.path = strings.ReplaceAll(p.path, "fixtures/mcp", "gone")
			replayed := p.passes("replay")
			require.Equal(t, withServers(recorded, true), withServers(replayed, true))
			require.Equal(t, withServers(recorded, false), withServers(replayed, false))
		})
	}
}

// withServers returns the requests to MCP servers, or all other events. They come over different connections, so nobody
// knows which of an agent's call and the server's request comes first.
func withServers(events []trajectory.Body, requests bool) []trajectory.Body {
	return slices.DeleteFunc(slices.Clone(events), func(b trajectory.Body) bool {
		_, ok := b.(trajectory.MCPCall)
		return ok != requests
	})
}

// calls returns the calls of tools and what was said.
func calls(events []trajectory.Body) []trajectory.Body {
	return slices.DeleteFunc(slices.Clone(events), func(b trajectory.Body) bool {
		switch b.(type) {
		case trajectory.ToolStart, trajectory.ToolEnd, trajectory.Message:
			return false
		}
		return true
	})
}

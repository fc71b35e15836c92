package livetest

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
)

// TestRealLogs runs each agent that keeps a log as its users do, without a client and in a home of its own. What it
// wrote there is imported by the command: the recording has the prompt, each call with its end, and all that was said.
func TestRealLogs(t *testing.T) {
	t.Parallel()
	bin := agentsBin(t)
	requireAgents(t, bin)
	presets, program := startModel(t, "../../fixtures/models"), buildCommand(t)
	cache, err := exec.Command("go", "env", "GOCACHE").Output() // Codex does not wait for a cold one
	require.NoError(t, err)
	const exported = `opencode export "$(opencode session list | grep -o 'ses_[0-9A-Za-z]*')" > log`
	tests := []struct {
		kind, run string // the prompt is $1
		log       string // below the home
		tools     []string
	}{
		{
			"claude-code-acp", `claude --dangerously-skip-permissions -p "$1"`, ".claude/projects/*/*.jsonl",
			[]string{"Bash", "Read", "Edit", "Bash"},
		},
		{
			"codex-acp", `codex exec --dangerously-bypass-approvals-and-sandbox --skip-git-repo-check "$1"`,
			".codex/sessions/*/*/*/rollout-*.jsonl",
			[]string{"exec_command", "exec_command", "apply_patch", "exec_command"},
		},
		{
			"copilot-acp", `copilot --allow-all -p "$1"`, ".copilot/session-state/*/events.jsonl",
			[]string{"grep", "view", "edit", "bash"},
		},
		{
			"gemini-acp", `gemini --yolo -p "$1"`, ".gemini/tmp/*/chats/session-*.jsonl",
			[]string{"grep_search", "read_file", "replace", "run_shell_command"},
		},
		{
			"opencode-acp", `opencode run "$1"; cd "$HOME"; ` + exported, "log",
			[]string{"bash", "read", "edit", "bash"},
		},
		{
			"qwen-acp", `qwen --yolo -p "$1"`, ".qwen/projects/*/chats/*.jsonl",
			[]string{"grep_search", "read_file", "edit", "run_shell_command"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.kind, func(t *testing.T) {
			t.Parallel()
			home, root, workspace := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "inventory")
			require.NoError(t, os.CopyFS(workspace, os.DirFS("../../fixtures/inventory")))
			profile, _ := agent.Lookup(tt.kind)
			preset, err := agent.Resolve(tt.kind, "loopback", presets)
			require.NoError(t, err)
			launch, err := profile.Launch("", nil, preset)
			require.NoError(t, err)
			for _, f := range launch.Files {
				if tt.kind == "gemini-acp" { // without a client it has to be told how to authenticate
					f.Data = bytes.Replace(f.Data, []byte("{"),
						[]byte(`{"security": {"auth": {"selectedType": "gemini-api-key"}},`), 1)
				}
				file := filepath.Join(home, f.Path)
				require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
				require.NoError(t, os.WriteFile(file, f.Data, 0o600))
			}
			p := exec.CommandContext(t.Context(), "sh", "-ec", tt.run, "sh", commentPrompt)
			p.Dir = workspace
			p.Env = []string{
				"HOME=" + home, "PATH=" + bin + ":" + os.Getenv("PATH"), "PWD=" + workspace,
				"GOCACHE=" + strings.TrimSpace(string(cache)), `OPENCODE_PERMISSION={"edit":"allow","bash":"allow"}`,
			}
			for name, value := range launch.Env {
				p.Env = append(p.Env, name+"="+value)
			}
			out, err := p.CombinedOutput()
			require.NoError(t, err, "%s", out)
			logs, err := filepath.Glob(filepath.Join(home, tt.log))
			require.NoError(t, err)
			require.Len(t, logs, 1, "%s", out)

			playbook := filepath.Join(root, "logs.yaml")
			require.NoError(t, os.WriteFile(playbook, []byte("name: logs\ntask: {title: Comment, prompt: '"+
				commentPrompt+"'}\nvariants: {it: {agent: {kind: "+tt.kind+", preset: loopback}}}\n"+
				"workflow: {jobs: {eval: {strategy: {matrix: {variant: [it]}}, "+
				"steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]}}}\n"+
				"evaluators: [{name: edits, type: tool_trajectory, mode: in_order, expected: [{does: edit}]}]"), 0o600))
			out, err = exec.Command(program, "cassette", "import", "--root", root, "--from", profile.Transcript,
				"--playbook", playbook, "--stop", "end_turn", logs[0]).CombinedOutput()
			require.NoError(t, err, "%s", out)
			c, err := cassette.Read(filepath.Join(root, "cassettes/logs/task/it.1.jsonl"))
			require.NoError(t, err)
			require.Len(t, c.Turns, 1)
			require.Equal(t, []string{
				"prompt " + commentPrompt,
				"I'll look for the function.", tt.tools[0], "ended",
				"I'll read it before I describe it.", tt.tools[1], "ended",
				"It formats an amount of money.", tt.tools[2], "ended",
				"It has its comment; now the tests.", tt.tools[3], "ended",
				"The function `amount` in `report/csv.go` has a comment now.", "stop end_turn",
			}, told(c.Turns[0].Events))
		})
	}
}

// commentPrompt is the prompt of evals/agents.
const commentPrompt = "The function amount has no comment. Find it, give it one that says what it returns, " +
	"run the tests, and change nothing else."

// told are a turn's prompt, what was said and called, and how it ended.
func told(events []trajectory.Event) []string {
	var all []string
	for _, e := range events {
		switch b := e.Body.(type) {
		case trajectory.Prompt:
			all = append(all, "prompt "+b.Text)
		case trajectory.Message:
			all = append(all, b.Text)
		case trajectory.ToolStart:
			all = append(all, b.Name)
		case trajectory.ToolEnd:
			all = append(all, "ended")
		case trajectory.Stop:
			all = append(all, "stop "+b.Reason)
		}
	}
	return all
}

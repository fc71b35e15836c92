package engine_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/llm"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// jurySays is a script of an agent that answers with a text, after these actions.
func jurySays(text, actions string) string {
	return `{"session": {"models": {"current": "small", "choices": [{"id": "small"}, {"id": "large"}]}}, ` +
		`"turns": [{"actions": [` + actions + `{"say": {"text": ` + text + `}}], ` +
		`"tokens": {"input": 7, "output": 3, "total": 10}}]}`
}

const (
	costs    = `{"usage": {"used": 10, "size": 100, "cost_usd": 0.5}}, `
	passesA  = `"[{\"id\": \"a\", \"passed\": true, \"evidence\": \"seen\"}]"`
	switches = `{"update": {"sessionUpdate": "config_option_update", "configOptions": [{"id": "model", ` +
		`"name": "Model", "category": "model", "type": "select", "currentValue": "small", ` +
		`"options": [{"value": "small", "name": "s"}]}]}}, `
)

// juryAgent is an agent that tells in files what it was offered and where it works, and whose model answers the second
// time alone.
const juryAgent = `
while read -r line; do
  case $line in
  *'"initialize"'*) (cd "$OLDPWD" && ls -A) >found && echo "$line" >offered
    echo '{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":1,"agentInfo":{"name":"own","version":"3"}}}' ;;
  *'"session/new"'*) echo '{"jsonrpc":"2.0","id":2,"result":{"sessionId":"s"}}' ;;
  *'"session/prompt"'*)
    if [ ! -e asked ]; then
      touch asked
      echo '{"jsonrpc":"2.0","id":3,"error":{"code":429,"message":"429, retry after 1ms"}}'
    else
      cat said
      echo '{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}'
    fi ;;
  esac
done
`

// jurySaid is what it says then.
const jurySaid = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s",` +
	`"update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text",` +
	`"text":"[{\"id\": \"a\", \"passed\": false, \"evidence\": \"none\"}]"}}}}` + "\n"

// judging asks an agent of a project about one check.
func judging(t *testing.T, root string, a llm.Agent, model string, log *bytes.Buffer) (llm.Reply, error) {
	t.Helper()
	cfg := engine.Config{
		Root: root, Sandbox: "none", Getenv: os.Getenv, Environ: os.Environ(), Secrets: new(secret.Set),
		Spent: new(llm.Spent), Command: func(engine.Mode, plan.Unit) string { return "" },
	}
	return engine.Agents(cfg, "p.yaml", playbook.Sandbox{}, log).Complete(t.Context(), llm.Request{
		Agent: &a, Model: model, System: "Judge.", User: "The work.",
		Checks: []llm.Check{{ID: "a", Text: "It is done."}},
	})
}

// TestAgents: an agent gives verdicts, or an error says why what it said is none.
func TestAgents(t *testing.T) {
	t.Parallel()
	said := llm.Reply{
		Verdicts:    []llm.Verdict{{Passed: true, Evidence: "seen", Program: "fake-acp 1", Model: "small"}},
		InputTokens: 7, OutputTokens: 3, CostUSD: new(0.5),
	}
	tests := []struct {
		name, script, model, err string
		timeout                  time.Duration
	}{
		{name: "says so", script: jurySays(passesA, costs)},
		{name: "by the model that it was to use", script: jurySays(passesA, costs), model: "small"},
		{
			name: "by another model", script: jurySays(passesA, switches), model: "large",
			err: `ask fake-acp (large): the model "large" was asked to judge, and by the agent's word another one ` +
				`answered: "small"`,
		},
		{
			name: "no such model", script: jurySays(passesA, ""), model: "huge",
			err: `ask fake-acp (huge): start fake-acp: `,
		},
		{
			name: "after a tool", err: `ask fake-acp: it called the tool "Bash", and an agent that judges may use none`,
			script: jurySays(passesA, `{"tool": {"name": "Bash", "kind": "execute", "title": "ls"}}, `),
		},
		{
			name: "after a question", err: `ask fake-acp: it called the tool "Write", and an agent`,
			script: jurySays(passesA, `{"tool": {"name": "Write", "kind": "edit", "title": "w", "ask": {}}}, `),
		},
		{
			name: "no files", script: jurySays(passesA, `{"read": {"path": "a.txt"}}, `),
			err: "the client does not serve fs/read_text_file",
		},
		{
			name: "no terminals", script: jurySays(passesA, `{"terminal": {"command": "ls"}}, `),
			err: "the client does not serve terminals",
		},
		{
			name: "something else", script: jurySays(`"Fine."`, ""),
			err: `the reply has no JSON list; the reply was "Fine."`,
		},
		{
			name: "too late", script: jurySays(passesA, `{"say": {"text": "Well, "}}, {"sleep": "60s"}, `),
			timeout: 300 * time.Millisecond, err: "ask fake-acp: it did not end its answer: timeout",
		},
		{
			name: "never", script: jurySays(passesA, `{"sleep": "60s"}, `), timeout: 300 * time.Millisecond,
			err: "ask fake-acp: the agent's model did not answer, or the agent hangs",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			root := project(t, map[string]string{"judge.json": tt.script})
			agent := llm.Agent{Kind: "fake-acp", Args: []string{"judge.json"}, Timeout: tt.timeout}
			reply, err := judging(t, root, agent, tt.model, new(bytes.Buffer))
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			require.Equal(t, said, reply)
		})
	}
}

// TestAgentsAskedAgain: after an outage of its model an agent is asked once more, and it is offered nothing, in an
// empty directory.
func TestAgentsAskedAgain(t *testing.T) {
	t.Parallel()
	notes := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(notes, "said"), []byte(jurySaid), 0o644))
	root := project(t, map[string]string{"agent.sh": "cd " + notes + "\n" + juryAgent})
	var log bytes.Buffer
	reply, err := judging(t, root, llm.Agent{Kind: "acp", Command: "sh", Args: []string{"agent.sh"}}, "", &log)
	require.NoError(t, err)
	require.Equal(t, []llm.Verdict{{Evidence: "none", Program: "own 3"}}, reply.Verdicts)
	require.Contains(t, log.String(), "attempt 1 of 2 ended in error; another one follows after a pause")
	found, err := os.ReadFile(filepath.Join(notes, "found"))
	require.NoError(t, err)
	require.Empty(t, string(found))
	offered, err := os.ReadFile(filepath.Join(notes, "offered"))
	require.NoError(t, err)
	require.Contains(t, string(offered), `"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false`)
}

package plan_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// withEvaluator returns a playbook whose only evaluator is of type "probe" and has some further keys, from line 5 on.
func withEvaluator(keys string) []byte {
	return []byte(`task: {prompt: x}
variants: {a: {agent: {kind: fake-acp}}}
workflow: {jobs: {eval: {strategy: {matrix: {variant: [a]}}, steps: [{uses: "builtin:sdd-eval/acp.prompt"}]}}}
evaluators:
  - type: probe
` + keys)
}

func TestNode(t *testing.T) {
	seen := false
	_, err := plan.Parse("p.yaml", withEvaluator("    zebra: [1, {x: y}]\n    ant: text\n"), plan.Kinds{
		"probe": {Decode: func(n *doc.Node) any {
			seen = true
			assert.Equal(t, "p.yaml:5", n.Position().String())
			assert.Equal(t, "evaluators[0]", n.Path())
			assert.Nil(t, n.Get("type"), "keys that all evaluators have are not the kind's")

			entries := n.Entries()
			require.Len(t, entries, 2)
			assert.Equal(t, "zebra", entries[0].Key)
			assert.Equal(t, doc.Position{File: "p.yaml", Line: 6, Column: 5}, entries[0].Position)
			assert.Equal(t, "text", entries[1].Value.Value())

			items := n.Get("zebra").Items()
			require.Len(t, items, 2)
			assert.Equal(t, doc.Position{File: "p.yaml", Line: 6, Column: 16}, items[1].Position())
			assert.Nil(t, items[0].Entries())
			assert.Nil(t, items[1].Items())

			none := n.Get("nothing")
			require.Nil(t, none)
			assert.Nil(t, none.Get("x"))
			assert.Nil(t, none.Value())
			assert.Nil(t, none.Entries())
			assert.Nil(t, none.Items())
			assert.Empty(t, none.Path())
			assert.Zero(t, none.Position())
			assert.False(t, none.Decode(new(string)))
			none.Errorf("", "nowhere to report this")
			return nil
		}},
	})
	require.NoError(t, err)
	assert.True(t, seen)
}

func TestKindReportsProblems(t *testing.T) {
	_, err := plan.Parse("p.yaml", withEvaluator("    list: [1, {x: y}]\n"), plan.Kinds{
		"probe": {Decode: func(n *doc.Node) any {
			n.Errorf("list[1].x", "no %s", "y")
			n.Errorf("list[5]", "too short")
			n.Errorf("", "as a whole")
			return nil
		}},
	})
	assert.EqualError(t, err, `p.yaml:5:5: evaluators[0]: as a whole
p.yaml:6:5: evaluators[0].list[5]: too short
p.yaml:6:19: evaluators[0].list[1].x: no y`)
}

func TestRunCheck(t *testing.T) {
	fake := playbook.Agent{Kind: "fake-acp"}
	tests := []struct {
		name string
		run  plan.Run
		want string
	}{
		{"nothing is missing", plan.Run{Agent: fake}, ""},
		{"everything", plan.Run{
			Agent:  fake,
			Limits: playbook.Limits{Timeout: time.Minute, MaxToolCalls: 1, MaxTokens: 10, MaxCostUSD: 0.5},
			Permissions: playbook.Permissions{
				Default: playbook.DecideReject,
				Rules:   []playbook.PermissionRule{{Path: "**", Decide: playbook.DecideAllow}},
			},
			MCP: []playbook.MCPServer{{Name: "stock", Command: []string{"stock", "--all"}}},
			Env: playbook.Env{Pass: []string{"LANG"}},
			Sandbox: playbook.Sandbox{
				Kind: "command", Command: []string{"wrap"}, Network: "none", AllowRead: []string{"~/.cargo"},
				AllowCommands: []string{"tofu"}, UnixSockets: true, AllowUserns: true, Require: []string{"files read"},
			},
		}, ""},
		{
			"unknown property",
			plan.Run{Agent: fake, Sandbox: playbook.Sandbox{Require: []string{"file reads"}}},
			`sandbox.require[0]: unknown property "file reads"`,
		},
		{
			"no command of a sandbox",
			plan.Run{Agent: fake, Sandbox: playbook.Sandbox{Kind: "command"}},
			"sandbox.kind: a sandbox of kind command needs a `command`",
		},
		{"no agent", plan.Run{}, "`agent.kind` is required"},
		{
			"unknown kind",
			plan.Run{Agent: playbook.Agent{Kind: "fakeacp"}},
			`agent.kind: unknown kind of agent "fakeacp", did you mean "fake-acp"?`,
		},
		{
			"no preset",
			plan.Run{Agent: playbook.Agent{Kind: "claude-code-acp"}},
			"agent: agents of kind claude-code-acp need a `preset`: `sdd-eval doctor` shows those that there are",
		},
		{"no command", plan.Run{Agent: playbook.Agent{Kind: "acp"}}, "agent: agents of kind acp need a `command`"},
		{
			"negative limit",
			plan.Run{Agent: fake, Limits: playbook.Limits{MaxToolCalls: -1}},
			"limits.max_tool_calls: must be at least 1, not -1",
		},
		{
			"negative timeout",
			plan.Run{Agent: fake, Limits: playbook.Limits{Timeout: -time.Second}},
			"limits.timeout: must be at least 1ms, not -1s",
		},
		{
			"unknown decision",
			plan.Run{Agent: fake, Permissions: playbook.Permissions{Default: "maybe"}},
			`permissions.default: must be one of allow, reject, error, not "maybe"`,
		},
		{
			"rule for nothing",
			plan.Run{
				Agent:       fake,
				Permissions: playbook.Permissions{Rules: []playbook.PermissionRule{{Decide: playbook.DecideAllow}}},
			},
			"permissions.rules[0]: a rule needs a `tool` or a `path`",
		},
		{
			"server without a command",
			plan.Run{Agent: fake, MCP: []playbook.MCPServer{{Name: "stock"}}},
			"either `command` or `mock` is required",
		},
		{
			"server with a blank command",
			plan.Run{Agent: fake, MCP: []playbook.MCPServer{{Name: "stock", Command: []string{" "}}}},
			"mcp[0].command[0]: must not be empty",
		},
		{
			"no number",
			plan.Run{Agent: fake, Limits: playbook.Limits{MaxCostUSD: math.NaN()}},
			"limits.max_cost_usd: must be a number, not NaN",
		},
		{
			"server twice",
			plan.Run{Agent: fake, MCP: []playbook.MCPServer{
				{Name: "a", Command: []string{"x"}},
				{Name: "a", Command: []string{"y"}},
			}},
			`mcp[1].name: duplicate server name "a"`,
		},
		{
			"malformed variable",
			plan.Run{Agent: fake, Env: playbook.Env{Pass: []string{"A=1"}}},
			`env.pass[0]: "A=1" must match`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.run.Check(); tt.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.want)
			}
		})
	}
}

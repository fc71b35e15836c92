package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	evaluators "github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
	"github.com/sdd-eval/sdd-eval/internal/toolname"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// withTools is a playbook with these agents, and with what follows its variants.
func withTools(agents, rest string) string {
	return "task: {prompt: p}\nvariants: {" + agents + "}\n" +
		"workflow: {jobs: {j: {strategy: {matrix: {variant: [a]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}\n" +
		"mcp: [{name: stock, command: [stock]}, {name: my-mail, command: [mail]}]\n" + rest
}

const (
	claude = "a: {agent: {kind: claude-code-acp, preset: p}}"
	codex  = "b: {agent: {kind: codex-acp, preset: p}}"
	open   = "c: {agent: {kind: fake-acp}}"
)

// noted loads a playbook and returns its errors or its notes, a line each.
func noted(t *testing.T, text string) string {
	t.Helper()
	p, err := plan.Parse("p.yaml", []byte(text), evaluators.All())
	if err != nil {
		return err.Error()
	}
	planned, err := p.Plan()
	require.NoError(t, err)
	notes := slices.DeleteFunc(planned.Notes(), func(n string) bool { return strings.Contains(n, "is in no matrix") })
	return strings.Join(notes, "\n")
}

// Each place where the name of a tool stands that nobody would miss takes the same names.
func TestToolsAnywhere(t *testing.T) {
	var b strings.Builder
	for _, keys := range []string{
		"evaluators: [{type: tool_trajectory, never: [NAME]}]",
		"evaluators: [{type: tool_trajectory, never: [{tool: NAME, args: {x: y}}]}]",
		"evaluators: [{type: tool_trajectory, never: [any: [{kind: edit}, {tool: NAME}]]}]",
		"evaluators: [{type: tool_trajectory, at_most: {NAME: 1}}]",
		"evaluators: [{type: tool_trajectory, at_least: {NAME: 1}}]",
		"evaluators: [{type: tool_trajectory, mode: any_order, minimums: {NAME: 1}}]",
		"evaluators: [{type: tool_trajectory, before: [Read, NAME]}]",
		"evaluators: [{type: tool_trajectory, before: [{tool: NAME, by: main}, Read]}]",
		"evaluators: [{type: tool_trajectory, no_duplicates: [NAME]}]",
		"evaluators: [{type: tool_trajectory, expected: [{kind: edit}], overrides: {NAME: ignore}}]",
		"evaluators: [{type: composite, all: [{type: tool_trajectory, never: [NAME]}]}]",
		"evaluators: [{type: metrics, max_calls: {NAME: 1}}]",
		"permissions: {rules: [{tool: NAME, decide: reject}]}",
		"cassette: {overrides: [{tool: NAME, error: e}]}",
	} {
		fmt.Fprintf(&b, "%s\n", keys)
		for _, name := range []string{"bash", "Shell"} {
			got := noted(t, withTools(claude+", "+codex, strings.ReplaceAll(keys, "NAME", name)))
			fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(got, "\n", "\n    "))
		}
		for _, name := range []string{"Bash", "exec_command", "mcp__stock__count"} {
			got := noted(t, withTools(claude+", "+codex, strings.ReplaceAll(keys, "NAME", name)))
			assert.Empty(t, got, "%s: %s", keys, name)
		}
		got := noted(t, withTools(claude+", "+open, strings.ReplaceAll(keys, "NAME", "bash")))
		assert.Empty(t, got, "%s: fake-acp may have any tool", keys)
	}
	golden.Equal(t, "testdata/tools_anywhere.golden", b.String())
}

// TestOverrideAdvice does what the error about the key of an override advises.
func TestOverrideAdvice(t *testing.T) {
	keys := "evaluators: [{type: tool_trajectory, expected: [{any: [{kind: edit}%s]}], overrides: {bash: ignore}}]"
	require.Contains(t, noted(t, withTools(claude, fmt.Sprintf(keys, ", {kind: read}"))),
		`If the agent has such a tool, expect its calls by name, too: {any: [..., {tool: bash}]}`)
	require.Empty(t, noted(t, withTools(claude, fmt.Sprintf(keys, ", {tool: bash}"))))
}

func TestToolNames(t *testing.T) {
	var b strings.Builder
	for _, name := range []string{
		"Bash|Edit", "mcp__.*", "Bash ", "Ba\u200bsh", "Bash(rm *)", "bash", "Bsah", "Basch", "web_fetch", "Tasks",
		"Tasks*", "Bash*", "bash*", "*_command", "Frobnicate", "Frob*",
		"mcp__stock__*", "mcp__*", "mcp__stok__count", "mcp__Stock__count", "mcp__other__count", "mcp__my-mail__send",
		"mcp__my_mail__send", "stock/count", "mcp_stock_count", "mcp.stock.count", "stock__count", "stock_count",
		"my-mail_send", "mcp_stock_x", "MCP__stock__x", "Mcp.Stock.x", "mcp_stok_x", "mcp-stock-*",
		"MCP__stock__*",
		"mcp_stock*", "mcp_stock", "mcp__stock", "mcp__stock_count", "mcp__stok_count", "stock/*", "stock",
		"stok_count",
		"mcp_other_x", "MCP*", "mcp*", "mcp_*", "mcp_my_mail_send",
	} {
		never := fmt.Sprintf("evaluators: [{type: tool_trajectory, never: [%q]}]", name)
		got := noted(t, withTools(claude+", "+codex, never))
		fmt.Fprintf(&b, "%+q\n    %s\n", name, strings.ReplaceAll(got, "\n", "\n    "))
	}
	golden.Equal(t, "testdata/tools.golden", b.String())
}

// Tests written in Go get the same errors, where it is known which agents there are.
func TestToolNamesInGo(t *testing.T) {
	check := func(kind, tool string) error {
		return plan.Run{
			Agent: playbook.Agent{Kind: kind, Preset: "p"},
			Permissions: playbook.Permissions{
				Rules: []playbook.PermissionRule{{Tool: tool, Decide: playbook.DecideReject}},
			},
		}.Check()
	}
	assert.NoError(t, check("claude-cli", "Bash"))
	assert.NoError(t, check("claude-cli", "Frobnicate"))
	assert.NoError(t, check("fake-acp", "bash"))
	assert.ErrorContains(t, check("claude-cli", "bash"),
		`permissions.rules[0].tool: no tool is known as "bash", did you mean "Bash"?`)
	assert.ErrorContains(t, check("fake-acp", "Bash|Edit"), `permissions.rules[0].tool: "Bash|Edit" matches no tool`)

	p, err := plan.Parse("p.yaml", []byte(withTools(claude, "")), nil)
	require.NoError(t, err)
	err = p.Override(plan.Override{Override: playbook.Override{Tool: "bash", Error: "e"}})
	assert.ErrorContains(t, err, `tool: no tool is known as "bash", did you mean "Bash"?`)
}

// No tool of an agent is taken for a misspelling of another, and each may be written.
func TestKnownTools(t *testing.T) {
	for _, profile := range agent.Profiles() {
		assert.True(t, slices.IsSorted(profile.Tools), profile.Kind)
		assert.Equal(t, len(profile.Tools), len(slices.Compact(slices.Clone(profile.Tools))), profile.Kind)
		for _, tool := range profile.Tools {
			assert.NoError(t, toolname.Check(tool))
			assert.False(t, toolname.IsPattern(tool))
		}
		isOpen := slices.Contains([]string{"acp", agent.Fake, "cline-acp", "goose-acp"}, profile.Kind)
		assert.Equal(t, isOpen, profile.Tools == nil, profile.Kind)
	}
}

package plan_test

import (
	"encoding/json"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// TestEvalFile checks each field of the playbook that an eval file with all keys stands for.
func TestEvalFile(t *testing.T) {
	const file = "testdata/evalfile/valid/everything.eval.yaml"
	at := func(line, column int) doc.Position {
		return doc.Position{File: file, Line: line, Column: column}
	}
	got, err := plan.Load(file, kinds)
	require.NoError(t, err)
	want := &plan.Playbook{
		File: file,
		Name: "shop",
		Cases: []plan.Case{
			{
				ID: "sum", Prompt: "What is 2+2?\n", Prompts: []string{"What is 2+2?\n"},
				ExpectedOutcome: "The right sum.", ReferenceAnswer: "4",
				Variants: []string{"ant", "bee"}, Position: at(14, 5),
			},
			{
				ID: "dialogue", Prompts: []string{"Find the bug.", "Fix it.\nThen run the tests."},
				ReferenceAnswer: "Fixed, and all tests pass.",
				ExpectedMessages: []plan.Message{
					{Role: "assistant", ToolCalls: []plan.MessageCall{{
						Tool: "Bash", Output: "ok",
						Input: map[string]any{"command": "go test ./...", "limit": json.Number("9007199254740993")},
					}}},
					{Role: "assistant", Content: "Fixed, and all tests pass."},
				},
				Files: map[string]string{"refund/partial.json": `{"amount": 40}`},
				Evaluators: []plan.Evaluator{{
					Name: "fixed", Type: "files", Threshold: 1, Weight: 1, Position: at(38, 11),
					Config: map[string]any{"exists": []any{"refund.go"}},
				}},
				Variants: []string{"zebra", "bee"}, Position: at(20, 5),
			},
			{
				ID: "short", Prompt: "Which risk is it?", Prompts: []string{"Which risk is it?"},
				ReferenceAnswer:  `{"risk":"low","score":0.95}`,
				ExpectedMessages: []plan.Message{{Role: "assistant", Content: `{"risk":"low","score":0.95}`}},
				Variants:         []string{"zebra"}, Position: at(39, 5),
			},
		},
		Variants: []plan.Variant{
			{
				ID: "zebra", Position: at(5, 3),
				Agent: playbook.Agent{Kind: "claude-code-acp", Preset: "production", Model: "opus"},
			},
			{ID: "ant", Position: at(6, 3), Agent: playbook.Agent{Kind: "acp", Command: "my-agent"}},
			{
				ID: "bee", Position: at(7, 3),
				Agent: playbook.Agent{Kind: "acp", Command: "my-agent", Args: []string{"--quick"}},
			},
			{ID: "unused", Position: at(8, 3), Agent: playbook.Agent{Kind: "fake-acp"}},
		},
		Workflow: plan.Workflow{Jobs: []plan.Job{{
			ID: "eval", Position: at(13, 1),
			Strategy: &plan.Strategy{Matrix: plan.Matrix{Variant: []string{"zebra", "ant", "bee"}}},
			Steps: []plan.Step{
				{Uses: action.Prepare, Job: "eval", Position: at(43, 1)},
				{Uses: action.Prompt, Job: "eval", Position: at(13, 1)},
			},
		}}},
		SDDLoop:     plan.SDDLoop{MaxIterations: 6},
		Trials:      plan.Trials{Count: 2, Pass: 1},
		Limits:      plan.Limits{Limits: playbook.Limits{Timeout: 5 * time.Minute}},
		Permissions: playbook.Permissions{Default: playbook.DecideReject},
		Retries:     1,
		Evaluators: []plan.Evaluator{{
			Name: "offline", Type: "tool_trajectory", Threshold: 1, Weight: 1, Position: at(12, 7),
			Config: map[string]any{"never": []any{"WebFetch"}},
		}},
		Workspace: plan.Workspace{From: "../fixtures/shop", Git: plan.GitUnignored, Position: at(43, 1)},
		Sandbox:   got.Sandbox, Cassette: got.Cassette, // as in playbooks
		Env: playbook.Env{Pass: []string{"HTTPS_PROXY"}},
		MCP: []plan.MCPServer{{
			MCPServer: playbook.MCPServer{Name: "docs", Command: []string{"docs-server"}},
			Position:  at(50, 7),
		}},
		Requires: []string{"python3"},
	}
	want.Dir, err = filepath.Abs("testdata/evalfile/valid")
	require.NoError(t, err)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty(),
		cmpopts.IgnoreFields(plan.Playbook{}, "Cassette", "Text"), noDigest); diff != "" {
		t.Errorf("playbook (-want +got):\n%s", diff)
	}
	assert.Equal(t, []string{"tofu"}, got.Sandbox.AllowCommands)
	assert.Equal(t, `\d+ms`, got.Cassette.Normalise[0].String())
}

// TestEvalFilePlan says who is asked what.
func TestEvalFilePlan(t *testing.T) {
	planned := planOf(t, "testdata/evalfile/valid/everything.eval.yaml")
	var units []string
	for _, u := range planned.Units {
		units = append(units, u.ID())
	}
	assert.Equal(t, []string{
		"shop/sum/ant/1", "shop/sum/ant/2", "shop/sum/bee/1", "shop/sum/bee/2",
		"shop/dialogue/zebra/1", "shop/dialogue/zebra/2", "shop/dialogue/bee/1", "shop/dialogue/bee/2",
		"shop/short/zebra/1", "shop/short/zebra/2",
	}, units)
	assert.Nil(t, planned.Trials("sum", "zebra"), "it is no target of the case")
	for _, c := range planned.Cases() {
		for _, v := range planned.Variants(c) {
			require.Len(t, planned.Trials(c.ID, v.ID), 2)
			for i, u := range planned.Trials(c.ID, v.ID) {
				assert.Equal(t, []any{c.ID, v.ID, i + 1}, []any{u.Case.ID, u.Variant.ID, u.Trial})
			}
		}
	}
	var names []string
	for _, e := range planned.Trials("dialogue", "bee")[0].Evaluators {
		names = append(names, e.Name)
	}
	assert.Equal(t, []string{"offline", "fixed"}, names, "those of a case are added to the file's")
}

// TestEvalFileOrPlaybook tells the two kinds of documents apart.
func TestEvalFileOrPlaybook(t *testing.T) {
	const (
		cases    = "evalcases: [{id: sum, question: x, execution: {evaluators: [{type: fake}]}}]\n"
		task     = "task: {prompt: x}\nworkflow: {jobs: {b: {steps: [{run: go version}]}}}\n"
		variants = "variants: {a: {agent: {kind: fake-acp}}}\n"
	)
	tests := []struct{ name, file, text, want string }{
		{"by its key", "shop.yaml", cases + variants, ""},
		{"by its key and name", "shop.eval.yaml", cases + variants, ""},
		{"a playbook by its keys", "shop.eval.yaml", task + variants, ""},
		{"by its name", "shop.eval.yml", variants, "at least one case is required"},
		{"neither", "shop.yaml", variants, "`workflow.jobs` is required"},
		{"both", "shop.yaml", cases + task + variants, "either `evalcases` or `workflow`"},
		{"no mapping", "shop.eval.yaml", "- evalcases", "must be a mapping, not a list"},
		{"empty", "shop.eval.yaml", "", "the file is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := plan.Parse(tt.file, []byte(tt.text), kinds)
			if tt.want != "" {
				require.ErrorContains(t, err, tt.want)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, "shop", p.Name)
		})
	}
}

// TestEvalFileWithoutTarget asks all variants, and makes no workspace that the file does not describe.
func TestEvalFileWithoutTarget(t *testing.T) {
	const text = `evalcases: [{id: sum, question: x}]
variants: {b: {agent: {kind: fake-acp}}, a: {agent: {kind: fake-acp}}}
execution: {evaluators: [{type: fake}]}
`
	p, err := plan.Parse("shop.yaml", []byte(text), kinds)
	require.NoError(t, err)
	job := p.Workflow.Jobs[0]
	assert.Equal(t, []string{"b", "a"}, job.Variants())
	require.Len(t, job.Steps, 1)
	assert.Equal(t, action.Prompt, job.Steps[0].Uses)
	assert.Nil(t, p.Cases[0].Variants)
}

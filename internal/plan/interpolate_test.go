package plan_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

func TestInterpolate(t *testing.T) {
	values := plan.Values{"case.id": "refund", "trial": "2", "task.title": "${{ trial }} }} ${{"}
	tests := []struct {
		name, text, want, err string
	}{
		{name: "none", text: "a $ { } }} b", want: "a $ { } }} b"},
		{name: "one", text: "a ${{ case.id }} b", want: "a refund b"},
		{name: "blanks are ignored", text: "${{case.id}}${{\t trial\n}}", want: "refund2"},
		{name: "values are not scanned", text: "${{ task.title }}", want: "${{ trial }} }} ${{"},
		{name: "unknown", text: "${{ case.di }}", err: `unknown path "case.di" in ${{ }}, did you mean "case.id"?`},
		{name: "expression", text: "${{ trial + 1 }}", err: `unknown path "trial + 1" in ${{ }}`},
		{name: "nested", text: "${{ a ${{ trial }} }}", err: `unknown path "a ${{ trial" in ${{ }}`},
		{name: "not available", text: "${{ run.run_id }}", err: "${{ run.run_id }} is not available here"},
		{name: "empty", text: "${{ }}", err: "empty ${{ }}"},
		{name: "unterminated", text: "a ${{ trial }", err: "unterminated ${{"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := plan.Interpolate(tt.text, values)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestResolve(t *testing.T) {
	position := doc.Position{File: "p.yaml", Line: 7}
	values := plan.Values{
		"case.id": "a b", "matrix.variant": "..", "task.title": `it's "quoted" && more`, "variant.style": "prepare",
		"trial": "",
	}
	tests := []struct {
		name       string
		step, want plan.Step
		err        string
	}{
		{
			name: "values stay within their word",
			step: plan.Step{Run: "x", Args: []string{"git", "commit", "-m", "${{ task.title }}!"}},
			want: plan.Step{
				Run:  `git commit -m 'it'\''s "quoted" && more!'`,
				Args: []string{"git", "commit", "-m", `it's "quoted" && more!`},
			},
		},
		{
			name: "cwd",
			step: plan.Step{Run: "x", Args: []string{"go"}, Cwd: "sub/${{ case.id }}"},
			want: plan.Step{Run: "x", Args: []string{"go"}, Cwd: "sub/a b"},
		},
		{
			name: "action",
			step: plan.Step{Uses: "builtin:sdd-eval/workspace.${{ variant.style }}"},
			want: plan.Step{Uses: action.Prepare},
		},
		{
			name: "strings of settings",
			step: plan.Step{Uses: action.Prompt, With: map[string]any{
				"a": []any{"x ${{ case.id }}", 1, true, nil}, "${{ trial }}": map[string]any{"b": "${{ case.id }}"},
			}},
			want: plan.Step{Uses: action.Prompt, With: map[string]any{
				"a": []any{"x a b", 1, true, nil}, "${{ trial }}": map[string]any{"b": "a b"},
			}},
		},
		{
			name: "value leads out",
			step: plan.Step{Run: "x", Args: []string{"go"}, Cwd: "${{ matrix.variant }}/b"},
			err:  `p.yaml:7: cwd: "../b" must not contain ".."`,
		},
		{
			name: "value is no allowed command",
			step: plan.Step{Run: "x", Args: []string{"${{ case.id }}"}},
			err: `p.yaml:7: run: command "a b" is not allowed: use one of cargo, git, go, just, make, node, npm, ` +
				`pnpm, pytest, python, python3, rg, yarn, or name it under sandbox.allow_commands`,
		},
		{
			name: "value is no command",
			step: plan.Step{Run: "x", Args: []string{"${{ trial }}"}},
			err:  "p.yaml:7: run: the command is empty",
		},
		{
			name: "value is no action",
			step: plan.Step{Uses: "builtin:${{ case.id }}"},
			err:  `p.yaml:7: uses: unknown action "builtin:a b"`,
		},
		{
			name: "no value",
			step: plan.Step{Run: "x", Args: []string{"go", "${{ run.run_dir }}"}},
			err:  "p.yaml:7: run: ${{ run.run_dir }} is not available here",
		},
		{
			name: "no value in settings",
			step: plan.Step{Uses: action.Prompt, With: map[string]any{"a": map[string]any{"b": "${{ run.run_dir }}"}}},
			err:  "p.yaml:7: with: a: b: ${{ run.run_dir }} is not available here",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var p plan.Playbook
			tt.step.Position, tt.want.Position = position, position
			got, err := p.Resolve(tt.step, values)
			if tt.err != "" {
				require.EqualError(t, err, tt.err)
				return
			}
			require.NoError(t, err)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestUnitValues(t *testing.T) {
	values := planOf(t, "testdata/valid/everything.yaml").Units[0].Values()
	assert.Equal(t, plan.Values{
		"matrix.variant": "ant", "variant.style": "sdd-legacy", "variant.agent.kind": "acp", "case.id": "refund",
		"trial": "1",
	}, values)

	u := planOf(t, "testdata/valid/task.eval.yaml").Units[0]
	assert.Equal(t, plan.Values{
		"matrix.variant": "a", "variant.style": "sdd", "variant.agent.kind": "fake-acp", "case.id": "task",
		"trial": "1", "task.title": `A "title" with 'quotes'`, "task.prompt": "Do it. ${{ not.scanned }}",
	}, u.Values())
}

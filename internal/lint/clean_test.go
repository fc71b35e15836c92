package lint_test

import (
	"fmt"
	"maps"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What is told from a finding by a single fact: each pair differs by that fact.
func TestBoundaries(t *testing.T) {
	const fix = "(missing + size - 1) / size"
	const rounds = "evaluators:\n  - {name: rounds, type: files, expect: [{path: plan.go, contains: " + fix + "}%s]}\n"
	notes := map[string]string{"ws/NOTES.md": "Use " + fix + " here.\n"}
	golden := map[string]string{"evals/report.md": "# Report, all is well\n", "ws/report.md": "# Report, all is well\n"}
	test := map[string]string{"ws/plan_test.go": "package plan\n"}
	there := map[string]string{"ws/a.txt": "a\n"}
	const exists = "evaluators:\n  - {type: files, expect: [{path: a.txt, exists: true}]}\n"
	const tests = "evaluators:\n  - {name: tests, type: command, run: go test ./...}\n"
	const called = "evaluators: [{type: tool_trajectory, expected: [{kind: edit}]}]\n"
	const step = ", {name: tests, run: go test ./...}"
	rows := []struct {
		name         string
		prompt, more string // more keys of the playbook
		before       string // steps before the agent, and after it
		after        string
		files        map[string]string
		want         []string
	}{
		{
			"a file that the prompt does not name", "Fix it.", fmt.Sprintf(rounds, ""), "", "", notes,
			[]string{"answer-in-workspace [NOTES.md]"},
		},
		{"a file that the prompt names", "Read NOTES.md.", fmt.Sprintf(rounds, ""), "", "", notes, nil},
		{
			"a name that is part of another", "Read OLD-NOTES.md.", fmt.Sprintf(rounds, ""), "", "", notes,
			[]string{"answer-in-workspace [NOTES.md]"},
		},
		{
			"a file that is to lose a text", "Move it.", fmt.Sprintf(rounds, ", {path: NOTES.md, not_contains: size}"),
			"", "", notes, nil,
		},
		{
			"a file that is to go away", "Move it.", fmt.Sprintf(rounds, ", {path: NOTES.md, absent: true}"), "", "",
			notes, nil,
		},
		{
			"a case's file in place of one that is copied", "Fix it.",
			"cases: [{id: task, prompt: Fix it., files: {NOTES.md: none}}]\n" + fmt.Sprintf(rounds, ""), "", "", notes,
			nil,
		},
		{"a golden file that is to stay", "Fix it.", "evaluators:\n  - {type: files, expect: " +
			"[{path: report.md, golden: report.md}, {path: b, exists: true}]}\n", "", "", golden, nil},
		{
			"a judge in a small file that is copied", "Fix it.",
			"evaluators: [{name: v, type: code_judge, script: [sh, ../ws/v.sh]}]\n", "", "",
			map[string]string{"ws/v.sh": "true\n"},
			[]string{"judge-in-workspace [v.sh]"},
		},
		{"a canary that only the prompt has", "Say canary-0123456789.", called, "", "", nil, nil},
		{
			"a canary of the playbook in a prompt", "Do canary-0123456789.", called + "# canary-0123456789\n", "", "",
			nil,
			[]string{"canary [task]"},
		},
		{"tests after the agent", "Fix it.", called, "", step, test, []string{"writable-judge [tests]"}},
		{"tests before the agent", "Fix it.", called, step, "", test, nil},
		{"tests without evaluators", "Fix it.", "", "", step, test, nil},
		{
			"tests, and a judge that may look after them", "Fix it.",
			called[:len(called)-2] + ", {type: code_judge, script: [sh, v.sh]}]\n", "", step,
			map[string]string{"ws/plan_test.go": "package plan\n", "evals/v.sh": "true\n"},
			nil,
		},
		{"tests that only the agent can write", "Fix it.", tests, "", "", there, []string{"writable-judge [tests]"}},
		{
			"edits of tests that end the unit in error", "Fix it.",
			called + "permissions: {rules: [{path: '**/*_test.go', decide: reject}]}\n", "", step, test, nil,
		},
		{
			"edits of tests that end nothing", "Fix it.",
			called + "permissions: {allow_unasked: true, rules: [{path: '**/*_test.go', decide: reject}]}\n", "", step,
			test,
			[]string{"writable-judge [tests]"},
		},
		{"what is there already", "Fix it.", exists, "", "", there, []string{"idle-passes [task]"}},
		{"and what a model says", "Fix it.", exists + "  - {type: llm_judge, model: m}\n", "", "", there, nil},
		{
			"and a model may say", "Fix it.", exists + "  - {type: llm_judge, model: m, required: false}\n", "", "",
			there,
			[]string{"idle-passes [task]"},
		},
		{"and what a step does", "Fix it.", exists, "", ", {run: go vet ./...}", there, nil},
	}
	for _, tt := range rows {
		t.Run(tt.name, func(t *testing.T) {
			text := "variants: {a: {agent: {kind: fake-acp}}}\nworkspace: {from: ../ws}\nworkflow: {jobs: {eval: " +
				"{strategy: {matrix: {variant: [a]}}, steps: [{uses: builtin:sdd-eval/workspace.prepare}" + tt.before +
				", {uses: builtin:sdd-eval/acp.prompt}" + tt.after + "]}}}\n" + tt.more
			if tt.name != "a case's file in place of one that is copied" {
				text = "task: {prompt: " + tt.prompt + "}\n" + text
			}
			files := map[string]string{"evals/p.yaml": text, "ws/go.mod": "module m\n"}
			maps.Copy(files, tt.files)
			report, err := run(t, files, false)
			require.NoError(t, err)
			var got []string
			for _, f := range report.Findings {
				got = append(got, fmt.Sprintf("%s [%s]", f.Rule, f.Where))
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

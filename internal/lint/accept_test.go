package lint_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/lint"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

const idle = `task: {prompt: Fix it.}
variants: {a: {agent: {kind: fake-acp}}}
workspace: {from: ../ws}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
evaluators: [{type: files, expect: [{path: a.txt, exists: true}]}]
`

func TestAccept(t *testing.T) {
	files := func(accept string) map[string]string {
		return map[string]string{"evals/p.yaml": idle + accept, "ws/a.txt": "a\n"}
	}
	report, err := run(t, files(""), false)
	require.NoError(t, err)
	require.Len(t, report.Findings, 1)

	for _, where := range []string{"task", "'*'", "'t*'"} {
		report, err = run(t, files("lint: {accept: [{rule: idle-passes, where: "+where+", why: known}]}"), false)
		require.NoError(t, err)
		assert.Empty(t, report.Findings)
		require.Len(t, report.Accepted, 1)
		assert.Equal(t, "known", report.Accepted[0].Why)
	}

	_, err = run(t, files("lint:\n  accept:\n    - {rule: idle-passes, where: other, why: known}\n"), false)
	assert.EqualError(t, err, `evals/p.yaml:12:7: lint.accept[0]: idle-passes finds nothing at "other": `+
		"remove the entry, or write what the finding has in brackets")
}

// The ids that playbooks may name are those of the rules.
func TestRules(t *testing.T) {
	ids := lint.RuleIDs()
	assert.Equal(t, plan.LintRules, ids)
	assert.Len(t, slices.Compact(slices.Sorted(slices.Values(ids))), len(ids))
}

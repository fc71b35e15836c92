package kinds_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// Each kind decodes to an evaluator under the name that stands in playbooks.
func TestAll(t *testing.T) {
	examples := map[string]string{
		"activation":      "fires: [mcp__shop__count]",
		"code_judge":      "script: [my-judge]",
		"command":         "run: go test",
		"composite":       "all: [{type: files, expect: [{path: a, exists: true}]}]",
		"field_accuracy":  "fields: [{path: a, equals: 1}]",
		"llm_judge":       "model: m",
		"metrics":         "max_tool_calls: 1",
		"files":           "expect: [{path: a, exists: true}]",
		"text":            "checks: [{id: a, contains: [b]}]",
		"tool_trajectory": "expected: [{tool: Read}]",
	}
	assert.Equal(t, slices.Sorted(maps.Keys(examples)), slices.Sorted(maps.Keys(kinds.All())))
	for name, keys := range examples {
		text := strings.Join([]string{
			"task: {title: t, prompt: p}",
			"mcp: [{name: shop, command: [shop]}]",
			"variants: {v: {style: sdd, agent: {kind: acp, command: agent}}}",
			"workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}",
			"evaluators: [{type: " + name + ", " + keys + "}]",
		}, "\n")
		pb, err := plan.Parse("p.yaml", []byte(text), kinds.All())
		require.NoError(t, err)
		assert.Implements(t, (*evaluator.Evaluator)(nil), pb.Evaluators[0].Config, name)
	}
}

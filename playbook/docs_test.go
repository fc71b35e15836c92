package playbook_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	evaluators "github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/playbook"
)

// TestDocs holds the playbooks that the documentation shows to what is accepted.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../docs/playbook.md")
	require.NoError(t, err)
	schema := schemaOf(t, evaluators.All())
	shown := regexp.MustCompile("(?ms)^```yaml\n(name: .*?)^```$").FindAllSubmatch(text, -1)
	require.Len(t, shown, 2)
	for _, m := range shown {
		p, err := playbook.Parse("docs.yaml", m[1], evaluators.All())
		require.NoError(t, err)
		assert.Empty(t, validate(schema, schema, "", doc.Parse("docs.yaml", m[1]).Root.Value()), p.Name)
	}
}

// TestDocsErrors holds the errors that the documentation shows to what is reported.
func TestDocsErrors(t *testing.T) {
	const text = `task: {prompt: Fix it.}
variants:
  claude: {agent: {kind: claude-code-apc, preset: production}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [cluade]}}
      steps:
        - uses: builtin:sdd-eval/acp.prompt
        - run: go test ./... && echo done
cassette: {max_age: 90d}
evaluators:
  - {type: tool_trajectory, expected: [{tool: Read, args: {file_path: {pth: refund.go}}}]}
`
	_, err := playbook.Parse("bad.yaml", []byte(text), evaluators.All())
	require.Error(t, err)
	docs, readErr := os.ReadFile("../docs/playbook.md")
	require.NoError(t, readErr)
	assert.Contains(t, string(docs), "```\n"+err.Error()+"\n```")
}

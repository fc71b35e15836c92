package plan_test

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	evaluators "github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// TestDocs holds the playbooks that the documentation shows to what is accepted.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile("../../docs/playbook.md")
	require.NoError(t, err)
	schema := schemaOf(t, evaluators.All())
	shown := regexp.MustCompile("(?ms)^```yaml\n(name: .*?)^```$").FindAllSubmatch(text, -1)
	require.Len(t, shown, 2)
	for _, m := range shown {
		p, err := plan.Parse("docs.yaml", m[1], evaluators.All())
		require.NoError(t, err)
		assert.Empty(t, validate(schema, schema, "", doc.Parse("docs.yaml", m[1]).Root.Value()), p.Name)
	}
}

// TestDocsAgents holds the table of agents to the kinds that there are.
func TestDocsAgents(t *testing.T) {
	text, err := os.ReadFile("../../docs/agents.md")
	require.NoError(t, err)
	for _, p := range agent.Profiles() {
		program, preset := "`"+p.Command+"[ `]", "optional"
		switch {
		case p.NeedsPreset:
			preset = "required"
		case p.Kind == agent.Fake:
			program, preset = "built in", "not used"
		case p.Command == "":
			program = "`command` is required"
		}
		assert.Regexp(t, "(?m)^\\| `"+p.Kind+"` \\| "+program+".*\\| "+preset+" \\| ", string(text))
	}
}

// TestDocsAccounts holds the table of files with presets to the kinds that have any.
func TestDocsAccounts(t *testing.T) {
	text, err := os.ReadFile("../../docs/accounts.md")
	require.NoError(t, err)
	for _, p := range agent.Profiles() {
		if p.PresetFile != "" {
			assert.Regexp(t, "(?m)^\\| .*`"+p.Kind+"`.* \\| `"+p.PresetFile+"` \\| ", string(text))
		}
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
cassette: {max_age: {fail: 3 months}}
evaluators:
  - {type: tool_trajectory, expected: [{tool: Read, args: {file_path: {pth: refund.go}}}]}
`
	_, err := plan.Parse("bad.yaml", []byte(text), evaluators.All())
	require.Error(t, err)
	docs, readErr := os.ReadFile("../../docs/playbook.md")
	require.NoError(t, readErr)
	assert.Contains(t, string(docs), "```\n"+err.Error()+"\n```")
}

// TestDocsEvalFile holds the eval file and the errors that the documentation shows to what is accepted and reported.
func TestDocsEvalFile(t *testing.T) {
	docs, err := os.ReadFile("../../docs/eval-files.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$").FindSubmatch(docs)
	require.NotNil(t, shown)
	_, err = plan.Parse("docs.eval.yaml", shown[1], evaluators.All())
	require.NoError(t, err)
	schema := schemaOf(t, evaluators.All())
	assert.Empty(t, validate(schema, schema, "", doc.Parse("docs.yaml", shown[1]).Root.Value()))

	const text = `evalcases:
  - id: a
    input_messages: [{role: system, content: You are a reviewer.}, {role: user, content: Review this.}]
  - {id: b, question: Does it build,
    conversation_id: one}
  - {id: a, question: Where is the limit, execution: {target: cluade}}
variants: {claude: {agent: {kind: claude-code-acp, preset: production}}}
execution:
  evaluators: [{type: files, expect: [{path: go.mod, exists: true}]}]
evaluators: []
`
	_, err = plan.Parse("bad.eval.yaml", []byte(text), evaluators.All())
	require.Error(t, err)
	assert.Contains(t, string(docs), "```\n"+err.Error()+"\n```")
}

// TestDocsActions holds the table of actions to the actions that there are.
func TestDocsActions(t *testing.T) {
	text, err := os.ReadFile("../../docs/playbook.md")
	require.NoError(t, err)
	for _, name := range action.Names() {
		assert.Contains(t, string(text), "\n| `"+name+"` | ")
	}
}

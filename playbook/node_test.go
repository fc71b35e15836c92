package playbook_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

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
	_, err := playbook.Parse("p.yaml", withEvaluator("    zebra: [1, {x: y}]\n    ant: text\n"), playbook.Kinds{
		"probe": {Decode: func(n *playbook.Node) any {
			seen = true
			assert.Equal(t, "p.yaml:5", n.Position().String())
			assert.Equal(t, "evaluators[0]", n.Path())
			assert.Nil(t, n.Get("type"), "keys that all evaluators have are not the kind's")

			entries := n.Entries()
			require.Len(t, entries, 2)
			assert.Equal(t, "zebra", entries[0].Key)
			assert.Equal(t, playbook.Position{File: "p.yaml", Line: 6, Column: 5}, entries[0].Position)
			assert.Equal(t, "text", entries[1].Value.Value())

			items := n.Get("zebra").Items()
			require.Len(t, items, 2)
			assert.Equal(t, playbook.Position{File: "p.yaml", Line: 6, Column: 16}, items[1].Position())
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
	_, err := playbook.Parse("p.yaml", withEvaluator("    list: [1, {x: y}]\n"), playbook.Kinds{
		"probe": {Decode: func(n *playbook.Node) any {
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

// TestParseNode decodes what stands in no playbook.
func TestParseNode(t *testing.T) {
	var v struct {
		Rest *playbook.Node `yaml:"rest"`
	}
	decode := func(n *playbook.Node) { n.Decode(&v) }
	require.NoError(t, playbook.ParseNode("x.json", []byte(`{"rest": [1]}`), decode))
	require.Len(t, v.Rest.Items(), 1)
	require.EqualError(t, playbook.ParseNode("x.json", []byte("{\"rest\": 1,\n \"rset\": 2}"), decode), `x.json:2:2: rset: unknown key, did you mean "rest"?`)
	require.ErrorContains(t, playbook.ParseNode("x.json", []byte("{"), decode), "x.json:1:")
}

func TestAgentCheck(t *testing.T) {
	tests := []struct {
		name  string
		agent playbook.Agent
		want  string
	}{
		{"nothing is missing", playbook.Agent{Kind: "fake-acp"}, ""},
		{"kind", playbook.Agent{Kind: "fakeacp"}, `did you mean "fake-acp"?`},
		{"preset", playbook.Agent{Kind: "claude-code-acp"}, "agents of kind claude-code-acp need a `preset`"},
		{"command", playbook.Agent{Kind: "acp"}, "agents of kind acp need a `command`"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.agent.Check(); tt.want == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, tt.want)
			}
		})
	}
}

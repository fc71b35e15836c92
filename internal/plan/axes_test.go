package plan_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// TestAxes: the arms of a matrix, what they are made of, and that their ids stay when an axis is added by default.
func TestAxes(t *testing.T) {
	tests := []struct {
		name, matrix string
		want         []string
	}{
		{"variants alone", "{variant: [codex, claude]}", []string{"codex", "claude"}},
		{"by any name", "{agent: [codex, claude]}", []string{"codex", "claude"}},
		{
			"crossed", "{agent: [claude, codex], skill: [with, without]}",
			[]string{"claude-with", "claude-without", "codex-with", "codex-without"},
		},
		{"an axis by default", "{variant: [claude, codex], skill: [default]}", []string{"claude", "codex"}},
		{"and with more", "{variant: [claude], skill: [default, with]}", []string{"claude", "claude-with"}},
		{
			"excluded", "{agent: [claude, codex], skill: [with, without], exclude: [{agent: codex, skill: with}]}",
			[]string{"claude-with", "claude-without", "codex-without"},
		},
		{
			"included", "{agent: [claude], skill: [with], include: [{skill: without, agent: codex}]}",
			[]string{"claude-with", "codex-without"},
		},
		{
			"included in those that there are",
			"{agent: [claude, codex], skill: [with], include: [{agent: codex, model: small}, {model: large}]}",
			[]string{"claude-with-large", "codex-with-large"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var variants strings.Builder
			for line := range strings.Lines(`
  claude: {agent: {kind: fake-acp}, prompt_prefix: Claude}
  codex: {agent: {kind: fake-acp}}
  with: {files: {skill.md: x}, prompt_suffix: ok}
  without: {}
  small: {agent: {model: small}}
  large: {agent: {model: large}}
`) {
				if name, _, _ := strings.Cut(line, ":"); strings.Contains(tt.matrix, strings.TrimSpace(name)) {
					variants.WriteString(line)
				}
			}
			p, err := plan.Parse("p.yaml", []byte(`
task: {prompt: Do it.}
variants:`+variants.String()+`
workflow:
  jobs:
    eval:
      strategy: {matrix: `+tt.matrix+`}
      steps: [{uses: "builtin:sdd-eval/workspace.prepare"}, {uses: "builtin:sdd-eval/acp.prompt"}]
`), kinds)
			require.NoError(t, err)
			planned, err := p.Plan()
			require.NoError(t, err)
			var got []string
			for _, u := range planned.Units {
				got = append(got, u.Variant.ID)
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

// TestAblate: an arm for each thing that a variant has, after it, wherever it runs.
func TestAblate(t *testing.T) {
	p, err := plan.Parse("p.yaml", []byte(`
task: {prompt: Do it.}
ablate: all
mcp: [{name: search, command: [search]}]
variants:
  a:
    agent: {kind: fake-acp}
    workspace: {add: [{from: x, to: docs/b.txt}, {from: x, to: c.txt}]}
    files: {a.txt: a, b/c.txt: c}
    mcp: [{name: own, command: [own]}]
    env: {set: {A: "1"}}
    prompt_prefix: Well
    prompt_suffix: "?"
  b: {agent: {kind: fake-acp}, reference: true, files: {a.txt: a}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a, b]}}
      steps: [{uses: "builtin:sdd-eval/workspace.prepare"}, {uses: "builtin:sdd-eval/acp.prompt"}]
`), kinds)
	require.NoError(t, err)
	planned, err := p.Plan()
	require.NoError(t, err)
	left := make(map[string]string)
	for _, u := range planned.Units {
		v := u.Variant
		require.Equal(t, v.ID != "a", v.Reference, v.ID)
		left[v.ID] = v.Ablated
		o, whole := v.Overlay, planned.Units[0].Variant.Overlay
		assert.Equal(t, v.Ablated == "workspace.add/x", len(o.Workspace.Add) == 0 && v.ID != "b", v.ID)
		assert.Equal(t, v.Ablated == "mcp.search", len(p.For(v).MCP) == 1 && p.For(v).MCP[0].Name == "own", v.ID)
		assert.Equal(t, v.Ablated == "env.A", len(o.Env.Set) == 0 && v.ID != "b", v.ID)
		if v.Ablated == "files/b/c.txt" {
			assert.Equal(t, map[string]string{"a.txt": "a"}, o.Files)
			assert.Len(t, whole.Files, 2)
		}
	}
	assert.Equal(t, map[string]string{
		"a": "", "b": "", "a-without-own": "mcp.own", "a-without-search": "mcp.search",
		"a-without-b-txt": "workspace.add/x", "a-without-a-txt": "files/a.txt", "a-without-b-c-txt": "files/b/c.txt",
		"a-without-A": "env.A", "a-without-prompt_prefix": "prompt_prefix", "a-without-prompt_suffix": "prompt_suffix",
	}, left)
	assert.Equal(t, "b", planned.Units[len(planned.Units)-1].Variant.ID)
}

func TestArm(t *testing.T) {
	p, err := plan.Parse("p.yaml", []byte(`
task: {prompt: Do it.}
env: {set: {A: "1"}}
variants:
  claude: {agent: {kind: fake-acp, mode: auto}, prompt_prefix: Claude, env: {set: {B: "2"}}}
  large: {agent: {model: large}, env: {set: {B: "3"}}}
  without: {reference: true}
workflow:
  jobs:
    eval:
      strategy: {matrix: {agent: [claude], model: [default, large], skill: [default, without]}}
      steps: [{uses: "builtin:sdd-eval/acp.prompt"}, {run: "go ${{ matrix.agent }}-${{ matrix.skill }}"}]
`), kinds)
	require.NoError(t, err)
	require.Len(t, p.Variants, 4, "values of axes are no variants")
	arm := p.Variants[3]
	assert.Equal(t, "claude-large-without", arm.ID)
	assert.Equal(t, []plan.Choice{{"agent", "claude"}, {"model", "large"}, {"skill", "without"}}, arm.Axes)
	assert.True(t, arm.Reference)
	assert.Equal(t, "large", arm.Agent.Model)
	assert.Equal(t, "auto", arm.Agent.Mode)
	assert.Equal(t, map[string]string{"A": "1", "B": "3"}, p.EnvOf(arm).Set)
	planned, err := p.Plan()
	require.NoError(t, err)
	assert.Equal(t, "without", planned.Units[3].Values()["matrix.skill"])
	assert.Equal(t, "claude-large-without", planned.Units[3].Values()["matrix.variant"])
}

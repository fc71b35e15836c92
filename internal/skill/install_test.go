package skill_test

import (
	"maps"
	"slices"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/skill"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// An agent must not read what it is judged by, wherever the plugin has its evals.
func TestPluginsComeWithoutEvals(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, txtar.Write(txtar.Parse([]byte(`
-- .claude-plugin/plugin.json --
{"name": "shop", "experimental": {"evals": "./quality/evals"}}
-- skills/sell/SKILL.md --
-- evals/a/prompt.md --
-- quality/notes.md --
-- quality/evals/a/graders/g.md --
`)), dir))
	got, err := skill.Install(t.Context(), workspace.Source{Dir: dir}, plan.PluginFile)
	require.NoError(t, err)
	assert.Equal(t, []string{".claude-plugin/plugin.json", "quality/notes.md", "skills/sell/SKILL.md"},
		slices.Sorted(maps.Keys(got.Files)))
}

// A suite of waza may be beside the skill's file.
func TestSkillsComeWithoutWaza(t *testing.T) {
	for suite, want := range map[string][]string{
		"config: {}\ntasks: [tasks/*.yaml, ./more.yaml]\n": {"SKILL.md", "fixtures/a.py", "tasks/README.md"},
		"tasks: not those of waza\n": {
			"SKILL.md", "eval.yaml", "fixtures/a.py", "graders/g.py", "more.yaml", "tasks/README.md", "tasks/a.yaml",
			"trigger_tests.yaml",
		},
	} {
		dir := t.TempDir()
		require.NoError(t, txtar.Write(txtar.Parse([]byte(`
-- SKILL.md --
-- trigger_tests.yaml --
-- tasks/a.yaml --
-- tasks/README.md --
-- more.yaml --
-- graders/g.py --
-- fixtures/a.py --
-- eval.yaml --
`+suite)), dir))
		got, err := skill.Install(t.Context(), workspace.Source{Dir: dir}, plan.SkillFile)
		require.NoError(t, err)
		assert.Equal(t, want, slices.Sorted(maps.Keys(got.Files)), suite)
	}
}

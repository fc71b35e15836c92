package suite_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/suite"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

func TestWaza(t *testing.T) {
	for _, test := range []struct{ name, archive, path, agent string }{
		{"waza", "waza", "evals/shop/eval.yaml", "claude-cli"},
		{"waza-copilot", "waza", "evals/shop", "copilot-acp"},
		{"waza-problems", "waza-problems", "eval.yaml", "claude-cli"},
		{"waza-keys", "waza-keys", "eval.yaml", "claude-cli"},
	} {
		t.Run(test.name, func(t *testing.T) {
			archive, err := txtar.ParseFile("testdata/" + test.archive + ".txtar")
			require.NoError(t, err)
			dir := unpack(t, archive)
			o := options(dir)
			o.Agent = test.agent
			s, err := format(t, "waza").Convert(t.Context(), filepath.Join(dir, filepath.FromSlash(test.path)), o)
			require.NoError(t, err)
			golden.Equal(t, "testdata/"+test.name+".golden", shown(t, dir, s, o))
		})
	}
}

// A name finds the tools that it finds in waza, and a shell is told by its kind, whatever its commands do.
func TestWazaGraders(t *testing.T) {
	for _, test := range []struct{ agent, grader, want string }{
		{
			"claude-cli", `tool_constraint, config: {reject_tools: [{tool: bash, command_pattern: 'rm\s+-rf'}]}`,
			`never: [{kind: execute, args: {command: {regex: '(?i)rm\s+-rf'}}}]`,
		},
		{"gemini-acp", `behavior, config: {forbidden_tools: [bash]}`, `never: [{kind: execute}]`},
		{
			"codex-acp", `behavior, config: {required_tools: [powershell]}`,
			`{mode: superset, expected: [{any: [{kind: execute}, {tool: exec_command}, ` +
				`{kind: read, args: {command: {regex: .}}}, {kind: search, args: {command: {regex: .}}}]}]}`,
		},
		{
			"codex-acp", `tool_constraint, config: {expect_tools: [{tool: bash, command_pattern: "[xy]"}]}`,
			`{mode: superset, expected: [{any: [{kind: execute, args: {command: {regex: "(?i)[xy]"}}}, ` +
				`{kind: read, args: {command: {regex: "(?i)[xy]"}}}, ` +
				`{kind: search, args: {command: {regex: "(?i)[xy]"}}}]}]}`,
		},
		{"claude-cli", `tool_constraint, config: {reject_tools: [{tool: Shell}]}`, `never: [{kind: execute}]`},
		{"claude-cli", `tool_constraint, config: {reject_tools: [{tool: ^EDIT$}]}`, `never: [{does: edit}]`},
		{"claude-cli", `tool_constraint, config: {reject_tools: [{tool: edit}]}`, `never: [{does: edit}]`},
		{
			"claude-cli", `tool_constraint, config: {reject_tools: [{tool: "^[bg]?r"}]}`,
			`reject_tools.tool: "^[bg]?r" is more than the name of a tool, or a part of it`,
		},
		{
			"claude-cli", `tool_constraint, config: {reject_tools: [{tool: web}]}`,
			"web_search is a tool of Copilot that agents of the kind claude-cli do not have",
		},
		{"claude-cli", `tool_constraint, config: {reject_tools: [{tool: order$}]}`, `never: [{tool: "*order"}]`},
		{
			"copilot-acp", `tool_constraint, config: {reject_tools: [{tool: WEB}, {tool: ^bash$}]}`,
			`never: [{tool: "*web*"}, {tool: bash}]`,
		},
		{"claude-cli", "trigger, config: {mode: negative, skill_path: skills/s/x/..}", "silent: [s]"},
		{
			"claude-cli", "trigger, config: {mode: negative, skill_path: ../other/SKILL.md}",
			`"other" is not among the skills that the agent gets`,
		},
	} {
		t.Run(test.agent+" "+test.grader, func(t *testing.T) {
			dir := unpack(t, txtar.Parse([]byte("-- shop/eval.yaml --\nname: x\nskill: s\ntasks: [t.yaml]\n"+
				"-- shop/skills/s/SKILL.md --\n-- shop/t.yaml --\ninputs: {prompt: x}\n"+
				"graders: [{name: t, type: "+test.grader+"}]\n")))
			o := options(dir)
			o.Agent = test.agent
			s, err := format(t, "waza").Convert(t.Context(), dir, o)
			require.NoError(t, err)
			out := shown(t, dir, s, o)
			if len(s.Playbooks) == 0 {
				assert.Contains(t, out, test.want)
				return
			}
			evaluator := doc.Parse("", s.Playbooks[0].Text).Root.Get("evalcases").Items()[0].Get("execution").
				Get("evaluators").Items()[0].Without("name", "type")
			assert.Equal(t, doc.Parse("", []byte(test.want)).Root.Value(), evaluator.Value())
		})
	}
}

// The page shows what the suite in it becomes.
func TestWazaPage(t *testing.T) {
	const file = "../../docs/import.md"
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	before, section, ok := strings.Cut(string(page), "\n### waza\n")
	require.True(t, ok)
	parts := strings.SplitN(section, "```", 7)
	require.Len(t, parts, 7)
	text := func(i int) string { return strings.TrimPrefix(parts[i], "yaml\n") }
	dir := unpack(t, txtar.Parse([]byte("-- shop/explainer/eval.yaml --\n"+text(1)+
		"-- shop/explainer/tasks/js.yaml --\n"+text(3)+"-- shop/explainer/fixtures/fetch.js --\nfetch()\n"+
		"-- shop/skills/explain/SKILL.md --\n---\nname: explain\n---\nExplain.\n-- shop/go.mod --\nmodule shop\n")))
	o := suite.Options{Out: filepath.Join(dir, "evals"), Agent: "copilot-acp", Preset: "login"}
	s, err := format(t, "waza").Convert(t.Context(), filepath.Join(dir, "explainer"), o)
	require.NoError(t, err)
	require.Empty(t, s.Problems)
	require.Len(t, s.Playbooks, 1)
	parts[5] = "yaml\n" + string(s.Playbooks[0].Text)
	golden.Equal(t, file, before+"\n### waza\n"+strings.Join(parts, "```"))
}

func TestNoWaza(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing":  {"a: b\n", "has no tasks: it is no suite of waza"},
		"no tasks": {"tasks: []\n", "has no tasks"},
		"no YAML":  {"tasks: [\n", "eval.yaml:"},
		"bomb":     {bomb + "tasks: [x]\n", "more than 100000"},
		"large":    {"#" + strings.Repeat("x", 1<<20), "1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := unpack(t, txtar.Parse([]byte("-- shop/eval.yaml --\n"+test.text)))
			_, err := format(t, "waza").Convert(t.Context(), dir, options(dir))
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// Files outside of the repository are not read, whether a path or a link leads there.
func TestHostileWaza(t *testing.T) {
	dir := unpack(t, txtar.Parse([]byte(`
-- secret/task.yaml --
id: secret
inputs: {prompt: secret}
-- secret/SKILL.md --
---
name: secret
---
-- shop/.git/HEAD --
-- shop/eval.yaml --
name: shop
skill: secret
config: {skill_directories: [../secret, linked]}
tasks: [../secret/*.yaml, linked/*.yaml, tasks/*.yaml]
-- shop/tasks/a.yaml --
id: a
context_dir: ../../secret
inputs: {prompt_file: ../../secret/task.yaml, files: [{path: SKILL.md}], context: {fixture: ../linked/task.yaml}}
graders:
  - {type: diff, name: d, config: {expected_files: [{path: a, snapshot: linked/task.yaml}]}}
  - {type: diff, name: d, config: {context_dir: ../secret, expected_files: [{path: a, snapshot: task.yaml}]}}
-- shop/tasks/deep.yaml --
id: `+strings.Repeat("[", 5000)+`
`)))
	require.NoError(t, os.Symlink("../secret", filepath.Join(dir, "linked")))
	require.NoError(t, os.Symlink("../secret/task.yaml", filepath.Join(dir, "trigger_tests.yaml")))
	o := options(dir)
	_, err := format(t, "waza").Convert(t.Context(), dir, o)
	require.ErrorContains(t, err, "trigger_tests.yaml")
	require.NoError(t, os.Remove(filepath.Join(dir, "trigger_tests.yaml")))
	s, err := format(t, "waza").Convert(t.Context(), dir, o)
	require.NoError(t, err)
	assert.Empty(t, s.Playbooks)
	all := shown(t, dir, s, o)
	assert.NotContains(t, all, "prompt: secret")
	for _, want := range []string{
		"eval.yaml:3:30: : config.skill_directories: ", "eval.yaml:3:41: : config.skill_directories: ",
		"eval.yaml:4:9: : tasks: ", "eval.yaml:4:27: : tasks: ", "a: context_dir: ", "a: inputs.prompt_file: ",
		"a: inputs.context.fixture: ", "a: diff.expected_files.snapshot: ", "a: diff: context_dir: ",
		"eval.yaml:4:42: : tasks: ",
	} {
		assert.Contains(t, all, want)
	}
}

func TestRecogniseWaza(t *testing.T) {
	dir := unpack(t, txtar.Parse([]byte(`
-- shop/eval.yaml --
name: x
skill: x
config: {}
tasks: [tasks/*.yaml]
-- shop/trigger_tests.yaml --
should_trigger_prompts: []
-- shop/tasks/a.yaml --
inputs: {prompt: x}
-- shop/tasks/b.yaml --
cases: []
-- shop/other/eval.yaml --
tasks: [{id: x}]
-- other/a.yaml --
inputs: {prompt: x}
`)))
	for file, want := range map[string]string{
		".": dir, "eval.yaml": dir, "trigger_tests.yaml": dir, "tasks/a.yaml": dir,
		"tasks/b.yaml": "", "tasks": "", "other": "", "other/eval.yaml": "", "../other/a.yaml": "", "gone.yaml": "",
	} {
		f, found, ok := suite.Recognise(filepath.Join(dir, filepath.FromSlash(file)))
		assert.Equal(t, want, found, file)
		assert.Equal(t, want != "", ok && f.Name == "waza", file)
	}
}

// FuzzWaza checks that whatever a suite says is either a problem of it or in files that can be read.
func FuzzWaza(f *testing.F) {
	for _, name := range []string{"waza", "waza-problems", "waza-keys"} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		require.NoError(f, err)
		for _, file := range archive.Files {
			if strings.Contains(file.Name, "tasks/") {
				f.Add(string(archive.Files[0].Data), string(file.Data), "")
			}
		}
	}
	f.Add("name: x\nskill: shop\ntasks: [tasks/t.yaml]\n", "inputs: {prompt: x}",
		"skill: shop\nshould_trigger_prompts: [{prompt: x}]\n")
	f.Fuzz(func(t *testing.T, text, task, triggers string) {
		dir := filepath.Join(t.TempDir(), "shop")
		files := map[string]string{"eval.yaml": text, "tasks/t.yaml": task, "SKILL.md": "---\nname: shop\n---\n"}
		if triggers != "" {
			files["trigger_tests.yaml"] = triggers
		}
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "tasks"), 0o700))
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		o := options(dir)
		s, err := format(t, "waza").Convert(t.Context(), dir, o)
		if err != nil {
			return
		}
		mapped, written := 0, 0
		for _, c := range s.Cases {
			if c.Mapped {
				mapped++
			}
		}
		for _, p := range s.Playbooks {
			written += len(p.Cases)
			_, err := plan.Read(plan.Source{Path: filepath.Join(o.Out, p.File), Data: p.Text}, kinds.All())
			if err != nil {
				require.NotContains(t, err.Error(), "did not find expected", "it must be YAML:\n%s", p.Text)
				s.Refuse(p, err)
			}
		}
		require.Equal(t, mapped, written)
		if mapped < len(s.Cases) {
			require.NotEmpty(t, s.Problems)
		}
	})
}

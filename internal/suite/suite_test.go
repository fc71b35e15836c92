package suite_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
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

// unpack writes an archive to a directory, and returns the plugin in it.
func unpack(t testing.TB, archive *txtar.Archive) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, txtar.Write(archive, dir))
	return filepath.Join(dir, "shop")
}

// options are those with which everything that can be is honoured.
func options(dir string) suite.Options {
	return suite.Options{
		Out: filepath.Join(filepath.Dir(dir), "out"), Agent: "claude-cli", Preset: "production", JudgeModel: "gpt-4.1",
		Scripts: true, Servers: true,
	}
}

// shown returns all of what was read. Each playbook must be one.
func shown(t testing.TB, dir string, s *suite.Suite, o suite.Options) string {
	t.Helper()
	var out strings.Builder
	for _, c := range s.Cases {
		fmt.Fprintf(&out, "case %s %q mapped=%t", c.ID, c.Name, c.Mapped)
		for _, kind := range slices.Sorted(maps.Keys(c.Graders)) {
			fmt.Fprintf(&out, " %s=%d", kind, c.Graders[kind])
		}
		out.WriteByte('\n')
	}
	tell := func(kind string, all []suite.Problem) {
		for _, p := range all {
			rel, err := filepath.Rel(dir, p.At.File)
			require.NoError(t, err)
			fmt.Fprintf(&out, "%s %s:%d:%d: %s: %s: %s\n", kind, filepath.ToSlash(rel), p.At.Line, p.At.Column, p.Case,
				p.Key, strings.NewReplacer(dir, "DIR", filepath.Dir(dir), "TOP").Replace(p.What))
		}
	}
	tell("problem", s.Problems)
	tell("note", s.Notes)
	for _, p := range s.Playbooks {
		_, err := plan.Read(plan.Source{Path: filepath.Join(o.Out, p.File), Data: p.Text}, kinds.All())
		require.NoError(t, err, string(p.Text))
		fmt.Fprintf(&out, "\n-- %s: %s --\n%s", p.File, strings.Join(p.Cases, " "), p.Text)
	}
	return out.String()
}

func TestPluginEvals(t *testing.T) {
	for _, test := range []struct {
		name, archive string
		change        func(o *suite.Options)
	}{
		{"graders", "graders", func(*suite.Options) {}},
		{"problems", "problems", func(*suite.Options) {}},
		{"cautious", "graders", func(o *suite.Options) { o.Scripts, o.JudgeModel = false, "" }},
		{"acp", "graders", func(o *suite.Options) { o.Agent = "claude-code-acp" }},
		{"other-agent", "graders", func(o *suite.Options) { o.Agent = "codex-acp" }},
		{"parts", "parts", func(o *suite.Options) { o.Agent = "codex-acp" }},
		{"commands", "commands", func(o *suite.Options) { o.Agent = "codex-acp" }},
		{"tag", "graders", func(o *suite.Options) { o.Tags, o.JudgeModel, o.Trials = []string{"old", "x"}, "", 5 }},
		{"ignoring", "graders", func(o *suite.Options) { o.Agent, o.Ignore = "codex-acp", suite.Ignorable() }},
	} {
		t.Run(test.name, func(t *testing.T) {
			archive, err := txtar.ParseFile("testdata/" + test.archive + ".txtar")
			require.NoError(t, err)
			dir := unpack(t, archive)
			o := options(dir)
			test.change(&o)
			s, err := suite.Formats()[0].Convert(t.Context(), dir, o)
			require.NoError(t, err)
			golden.Equal(t, "testdata/"+test.name+".golden", shown(t, dir, s, o))
		})
	}
}

// What a call of the tool Skill may say is looked for in the names of all skills, where it must not be there.
func TestPluginSkills(t *testing.T) {
	for grader, want := range map[string]string{
		"input_match: pdf, min: 0, max: 0":          `silent: ["pdf","pdf-forms"]`,
		"input_match: 'shop:pdf\"', min: 0, max: 0": `silent: ["pdf"]`,
		"input_match: 'pdf|refund', min: 0, max: 0": `silent: ["pdf","pdf-forms","refund"]`,
		"min: 0, max: 0":                               `silent: ["pdf","pdf-forms","refund"]`,
		"input_match: shop:pdf":                        `fires: ["pdf"]`,
		"input_match: forms":                           `fires: ["pdf-forms"]`,
		"input_match: f":                               "may be any of 3 skills",
		"input_match: docx":                            "is not the name of a skill of the plugin",
		"input_match: '^shop:pdf', min: 0, max: 0":     "is not the name of a skill of the plugin",
		"input_match: 'shop:pdf(?=x)', min: 0, max: 0": "input_match: ",
	} {
		dir := unpack(t, txtar.Parse([]byte(`
-- shop/skills/pdf/SKILL.md --
-- shop/skills/pdf-forms/SKILL.md --
-- shop/skills/refund/SKILL.md --
-- shop/.claude-plugin/plugin.json --
{"name": "shop"}
-- shop/evals/c/case.yaml --
schema_version: "1.0"
name: c
execution: {prompt: Go.}
graders: [{type: tool_used, name: g, tool: Skill, `+grader+`}]
`)))
		o := options(dir)
		o.Agent = "codex-acp"
		s, err := suite.Formats()[0].Convert(t.Context(), dir, o)
		require.NoError(t, err)
		assert.Contains(t, shown(t, dir, s, o), want, grader)
	}
}

func TestNoEvals(t *testing.T) {
	for name, test := range map[string]struct{ archive, want string }{
		"nothing": {"-- shop/README.md --\n", "has no directory evals with evals"},
		"no case": {
			"-- shop/evals/README.md --\n", "has no cases: a case is a directory with a prompt.md or a case.yaml",
		},
		"escape": {
			"-- shop/.claude-plugin/plugin.json --\n{\"experimental\": {\"evals\": \"../x\"}}\n",
			"must be a directory below the plugin",
		},
		"manifest": {"-- shop/.claude-plugin/plugin.json --\n{\n", "plugin.json:"},
		"a file":   {"-- shop/evals --\n", "has no directory evals with evals"},
		"too deep": {
			"-- shop/evals/" + strings.Repeat("d/", 40) + "prompt.md --\nx\n",
			"directories are more than 32 levels deep",
		},
		"no plugin": {"-- other --\n", "no such file or directory"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := unpack(t, txtar.Parse([]byte(test.archive)))
			_, err := suite.Formats()[0].Convert(t.Context(), dir, options(dir))
			assert.ErrorContains(t, err, test.want)
		})
	}
}

// Links out of the plugin, and files that are too large, are problems of their case.
func TestHostile(t *testing.T) {
	dir := unpack(t, txtar.Parse([]byte(`
-- secret/notes.md --
secret
-- secret/graders/g.md --
---
type: regex
---
x
-- shop/evals/a/case.yaml --
schema_version: "1.0"
name: a
context: {add_dirs: [inputs], scaffold_script: /etc/passwd}
execution: {prompt: Go.}
-- shop/evals/b/graders/g.md --
---
type: regex
---
x
`)))
	up := filepath.Join(dir, "..", "secret")
	for link, target := range map[string]string{
		"evals/a/inputs": up, "evals/a/graders": filepath.Join(up, "graders"),
		"evals/b/prompt.md": filepath.Join(up, "notes.md"), "evals/linked": up,
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, filepath.FromSlash(link))))
	}
	large := "---\ntype: regex\n---\n" + strings.Repeat("x", 1<<20)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "evals/b/graders/large.md"), []byte(large), 0o600))
	o := options(dir)
	s, err := suite.Formats()[0].Convert(t.Context(), dir, o)
	require.NoError(t, err)
	assert.Empty(t, s.Playbooks)
	all := shown(t, dir, s, o)
	for _, want := range []string{
		"evals/a/graders is no directory", `"inputs":`, `"/etc/passwd" leads out of the plugin`,
		"evals/b/prompt.md:1:1: b:",
		"evals/b/graders/large.md:1:1: b:",
	} {
		assert.Contains(t, all, want)
	}
	assert.NotContains(t, all, "secret\n")
}

func TestRecognise(t *testing.T) {
	dir := unpack(t, txtar.Parse([]byte("-- shop/evals/x/y/case.yaml --\na: b\n-- shop/evals/z/prompt.md --\nx\n"+
		"-- shop/play.yaml --\n-- other/prompt.md --\nx\n-- other/evals/a.yaml --\n"+
		"-- foo/promptfooconfig.yaml --\n-- foo/promptfooconfig.de.json --\n-- foo/promptfoo.yaml --\n")))
	for file, want := range map[string]string{
		".": ".", "evals": ".", "evals/x/y": ".", "evals/x/y/case.yaml": ".", "evals/z/prompt.md": ".",
		"play.yaml": "", "evals/x": "", "../other": "", "../other/evals": "", "gone": "", "../other/prompt.md": "",
	} {
		_, found, ok := suite.Recognise(filepath.Join(dir, filepath.FromSlash(file)))
		assert.Equal(t, want != "", ok, file)
		if want != "" {
			assert.Equal(t, dir, found, file)
		}
	}
	for file, want := range map[string]string{
		"foo": "promptfoo", "foo/promptfooconfig.yaml": "promptfoo", "foo/promptfooconfig.de.json": "promptfoo",
		"foo/promptfoo.yaml": "",
	} {
		path := filepath.Join(filepath.Dir(dir), filepath.FromSlash(file))
		f, found, ok := suite.Recognise(path)
		assert.Equal(t, want, f.Name, file)
		assert.Equal(t, ok, found == path, file)
	}
}

// TestRefuse checks that a case with too many problems to show leaves the others, and that nothing else is left where a
// problem is about no case that there is.
func TestRefuse(t *testing.T) {
	for path, left := range map[string]int{
		"cases[0].prompt": 1, "cases[0].evaluators[9]": 1, "cases[7].prompt": 0, "": 0,
	} {
		dir := filepath.Join(t.TempDir(), "shop")
		for _, name := range []string{"a", "b"} {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, "evals", name, "graders"), 0o700))
			for file, text := range map[string]string{"prompt.md": "Go.", "graders/g.md": "---\ntype: regex\n---\nx"} {
				require.NoError(t, os.WriteFile(filepath.Join(dir, "evals", name, file), []byte(text), 0o600))
			}
		}
		s, err := suite.Formats()[0].Convert(t.Context(), dir, options(dir))
		require.NoError(t, err)
		require.Len(t, s.Playbooks, 1)
		s.Refuse(s.Playbooks[0], doc.Problems{{Path: path, Reason: "bad"}, {Reason: "too many problems"}})
		assert.Len(t, s.Playbooks, left, path)
		for _, p := range s.Playbooks {
			assert.Equal(t, []string{"b"}, p.Cases, path)
		}
	}
}

// FuzzPluginEvals checks that whatever a case says is either a problem of it or in a playbook that can be read.
func FuzzPluginEvals(f *testing.F) {
	f.Add("---\nruns: 2\n---\nGo.", "---\ntype: regex\nflags: im\n---\n^a.b$", "")
	f.Add("Go ${{ x }} {{y}}", "---\ntype: llm\n---\nIs \"good\": yes # {{z}}", "name: a\nschema_version: '1.0'\n")
	f.Add("", "---\ntype: tool_order\nbefore: Read\nafter: {tool: Bash, input_match: 'a|b'}\n---\n",
		"execution: {env: {A: b}}")
	f.Add("x", "---\ntype: file_exists\npath: ../x\n---", "graders: [{type: tool_used, name: n, tool: 'a b', max: 2}]")
	f.Fuzz(func(t *testing.T, prompt, grader, caseYAML string) {
		dir := filepath.Join(t.TempDir(), "shop")
		files := map[string]string{"prompt.md": prompt, "graders/g.md": grader}
		if caseYAML != "" {
			files["case.yaml"] = caseYAML
		}
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "evals/c/graders"), 0o700))
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "evals/c", name), []byte(text), 0o600))
		}
		o := options(dir)
		s, err := suite.Formats()[0].Convert(t.Context(), dir, o)
		require.NoError(t, err)
		require.Len(t, s.Cases, 1)
		require.Equal(t, s.Cases[0].Mapped, len(s.Problems) == 0)
		for _, p := range s.Playbooks {
			if _, err := plan.Parse(filepath.Join(o.Out, p.File), p.Text, kinds.All()); err != nil {
				s.Refuse(p, err)
			}
		}
		require.Equal(t, len(s.Problems) == 0, len(s.Playbooks) == 1)
	})
}

// FuzzCommand checks that whatever a command says is either a problem of the case that calls it or in a playbook.
func FuzzCommand(f *testing.F) {
	f.Add("---\ndescription: x\n---\n$0 \\$1 $ARGUMENTS[1] $2x $ARGUMENTS", "/shop:c 'a b' c")
	f.Add("No arguments.", "/c a |")
	f.Add("!`ls` @file ${CLAUDE_PLUGIN_ROOT}", "/..:c")
	f.Fuzz(func(t *testing.T, command, prompt string) {
		dir := filepath.Join(t.TempDir(), "shop")
		for name, text := range map[string]string{
			".claude-plugin/plugin.json": "{}", "commands/c.md": command, "evals/c/prompt.md": prompt,
			"evals/c/graders/g.md": "---\ntype: regex\n---\nx",
		} {
			require.NoError(t, os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700))
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		o := options(dir)
		o.Agent = "codex-acp"
		s, err := suite.Formats()[0].Convert(t.Context(), dir, o)
		require.NoError(t, err)
		for _, p := range s.Playbooks {
			if _, err := plan.Parse(filepath.Join(o.Out, p.File), p.Text, kinds.All()); err != nil {
				s.Refuse(p, err)
			}
		}
		require.Equal(t, len(s.Problems) == 0, len(s.Playbooks) == 1)
	})
}

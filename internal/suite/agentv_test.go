package suite_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/suite"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

func TestAgentV(t *testing.T) {
	for _, test := range []struct{ name, file string }{
		{"agentv", "evals/suite.yaml"},
		{"agentv-january", "suite.yaml"},
		{"agentv-problems", "suite.yaml"},
		{"agentv-more", "suite.yaml"},
	} {
		t.Run(test.name, func(t *testing.T) {
			archive, err := txtar.ParseFile("testdata/" + test.name + ".txtar")
			require.NoError(t, err)
			dir := unpack(t, archive)
			o := options(dir)
			o.Getenv = func(name string) string { return map[string]string{"SHOP": "Ada's"}[name] }
			s, err := format(t, "agentv").Convert(t.Context(), filepath.Join(dir, filepath.FromSlash(test.file)), o)
			require.NoError(t, err)
			golden.Equal(t, "testdata/"+test.name+".golden", shown(t, dir, s, o))
		})
	}
}

// Tests are asked by each prompt, those with an input of their own, too; what cannot be read is not passed over.
func TestAgentVPrompts(t *testing.T) {
	const two = "prompts: ['Be terse: {{ input }}', 'Be kind: {{ vars.input }}']\ntests:\n"
	for _, test := range []struct{ text, want, not string }{
		{two + "  - {id: a, input: Hi, assert: [x]}\n", "case a-2 \"a\" mapped=true", "problem"},
		{two + "  - {id: a, input: Hi, assert: [x]}\n", "Be kind: Hi\n", "      Hi\n"},
		{two + "  - {id: a, vars: {input: Hi}, assert: [x]}\n", "Be terse: Hi\n", "problem"},
		{"prompts: '{{ input }}'\ntests: [{input: Hi, assert: [x]}]\n", "      Hi\n", "problem"},
		{two + "  - {id: a, turns: [{input: Hi, assert: [x]}]}\n", "a: turns: its turns are asked, and not", "Hi"},
		{
			"prompts: [file://gone.md]\ntests: [{id: a, vars: {input: Hi}, assert: [x]}]\n",
			"case a \"a\" mapped=false", "Hi",
		},
		{
			"prompts: [file://gone.md, Be kind.]\ntests: [{id: a, assert: [x]}]\n", "case a-2 \"a\" mapped=true",
			"nothing is asked",
		},
		{"prompts: Hi.\ninput: Hi.\ntests: [{id: a, assert: [x]}]\n", "input: no prompt is {{ input }}", "--"},
		{
			two + "  - {id: a, input: [{role: user, content: Hi}], assert: [x]}\n",
			"a: input: a prompt takes a text, not messages", "--",
		},
		{
			"tests: [{id: A, input: Hi, assert: [x]}, {id: a, input: Hi, assert: [x]}]\n",
			"case a-2 \"a\" mapped=true", "problem",
		},
	} {
		dir := unpack(t, txtar.Parse([]byte("-- shop/suite.yaml --\n"+test.text)))
		o := options(dir)
		s, err := format(t, "agentv").Convert(t.Context(), filepath.Join(dir, "suite.yaml"), o)
		require.NoError(t, err)
		all := shown(t, dir, s, o)
		assert.Contains(t, all, test.want, test.text)
		assert.NotContains(t, all, test.not, test.text)
	}
}

// What a suite asks of the environment is there, is no credential, and is told.
func TestAgentVEnvironment(t *testing.T) {
	for text, want := range map[string]string{
		"{{ env.API_KEY }}":   "{{env.API_KEY}} looks like a credential, which no file gets",
		"{{ env.UNSET }}":     `set UNSET in the environment, or write {{ env.UNSET | default("...") }}`,
		"{{ env }}":           "{{env}}: name the value that is meant",
		"{{ env.SHOP | no }}": "the filter of {{env.SHOP | no}} is not known",
		"{{ env.SHOP.name }}": "{{env.SHOP.name}} has no value",
	} {
		dir := unpack(t, txtar.Parse([]byte("-- shop/suite.yaml --\n"+
			"tests:\n  - {id: a, input: '"+text+"', assert: [x]}\n")))
		o := options(dir)
		o.Getenv = func(name string) string { return map[string]string{"SHOP": "Ada's", "API_KEY": "k3y"}[name] }
		s, err := format(t, "agentv").Convert(t.Context(), filepath.Join(dir, "suite.yaml"), o)
		require.NoError(t, err)
		require.NotEmpty(t, s.Problems, text)
		assert.Contains(t, s.Problems[0].What, want)
		assert.NotContains(t, s.Problems[0].What, "k3y")
	}
}

// What a table says is read, or the error has its line.
func TestAgentVTable(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"input,__expected\nHi,a,b\n", "line 2: the row has more columns than the first one"},
		{"input,input\nHi,a\n", `two columns have the name "input"`},
		{"input,__expected\nHi,a\nHi,levenshtein:x\n", `t.csv:3: row-2: assert: the type "levenshtein" is not known`},
		{
			"input,__expected\n\"Hi\nyou\",a\nHi,javascript:x\n",
			`t.csv:4: row-2: assert: the type "javascript" is not known`,
		},
		{"input,__expected\nHi,file://gone.py\n", `command: "gone.py": no such file`},
		{"input,__provider,__expected\nHi,x,a\n", "t.csv:2: row-1: __provider: this key is not known"},
		{"a,a.b,__expected\nHi,x,a\n", `line 2: the columns of "a.b" say different things`},
		{"vars.a,a,__expected\nHi,x,a\n", `line 2: the columns of "a" say different things`},
		{"a,__prefix,__expected\nHi,x,a\n", "line 2: __prefix and __suffix are about a column input"},
		{
			"input,__expected,__config:__expected2:threshold\nHi,a,1\n",
			`line 2: __config: the row expects nothing in "__expected2"`,
		},
		{
			"input,__expected,__config:__expected:colour\nHi,a,1\n",
			`the column "__config:__expected:colour" is not known`,
		},
		{"input,__expected\n\"Hi", "t.csv"},
		{"", "has no tests"},
	} {
		dir := unpack(t, txtar.Parse([]byte("-- shop/suite.yaml --\ntests: t.csv\n")))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "t.csv"), []byte(test.text), 0o600))
		s, err := format(t, "agentv").Convert(t.Context(), filepath.Join(dir, "suite.yaml"), options(dir))
		var all strings.Builder
		if err != nil {
			all.WriteString(err.Error())
		} else {
			for _, p := range s.Problems {
				fmt.Fprintf(&all, "%s:%d: %s: %s: %s\n", filepath.Base(p.At.File), p.At.Line, p.Case, p.Key, p.What)
			}
		}
		assert.Contains(t, all.String(), test.want, test.text)
	}
}

// The page shows what the suite in it becomes.
func TestAgentVPage(t *testing.T) {
	const file = "../../docs/import.md"
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	before, section, ok := strings.Cut(string(page), "\n### AgentV\n")
	require.True(t, ok)
	parts := strings.SplitN(section, "```", 5)
	require.Len(t, parts, 5)
	text := strings.TrimPrefix(parts[1], "yaml\n")
	dir := unpack(t, txtar.Parse([]byte("-- shop/shop.yaml --\n"+text)))
	o := suite.Options{Out: filepath.Join(dir, "evals"), Agent: "claude-code-acp", Preset: "login"}
	s, err := format(t, "agentv").Convert(t.Context(), filepath.Join(dir, "shop.yaml"), o)
	require.NoError(t, err)
	require.Empty(t, s.Problems)
	require.Len(t, s.Playbooks, 1)
	parts[3] = "yaml\n" + string(s.Playbooks[0].Text)
	golden.Equal(t, file, before+"\n### AgentV\n"+strings.Join(parts, "```"))
}

func TestNoAgentV(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"nothing":  {"a: b\n", "has neither tests nor evalcases"},
		"no tests": {"tests: []\n", "has no tests"},
		"no YAML":  {"tests: [\n", "suite.yaml:"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := unpack(t, txtar.Parse([]byte("-- shop/suite.yaml --\n"+test.text)))
			_, err := format(t, "agentv").Convert(t.Context(), filepath.Join(dir, "suite.yaml"), options(dir))
			assert.ErrorContains(t, err, test.want)
			_, err = format(t, "agentv").Convert(t.Context(), dir, options(dir))
			assert.ErrorContains(t, err, "name the file of a suite")
		})
	}
}

// Links out of the tree, files that name themselves, bombs of aliases and large files are errors that name them.
func TestHostileAgentV(t *testing.T) {
	const tail = "\n    assert: [x]\n"
	var bomb strings.Builder
	bomb.WriteString("a: &a [x, x, x, x, x, x, x, x]\n")
	for c := 'b'; c < 'k'; c++ {
		bomb.WriteString(string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 9) + "x]\n")
	}
	for name, test := range map[string]struct{ text, want string }{
		"link": {"tests:\n  - input: [{role: user, content: [{type: file, value: link.md}]}]" + tail, "link.md"},
		"dir":  {"tests:\n  - input: [{role: user, content: [{type: file, value: .git}]}]" + tail, ".git"},
		"out": {
			"tests:\n  - input: [{role: user, content: [{type: file, value: ../secret.md}]}]" + tail,
			"secret.md",
		},
		"self":  {"tests: suite.yaml\n", "name each other too deeply"},
		"large": {"tests:\n  - input: [{role: user, content: [{type: file, value: large.md}]}]" + tail, "large.md"},
		"bomb":  {bomb.String() + "tests: [{input: x, assert: [x]}]\n", "suite.yaml"},
		"deep":  {"tests: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "\n", "suite.yaml"},
		"many":  {"tests:\n" + strings.Repeat("  - {input: x, assert: [x]}\n", 2001), "more than 2000 tests"},
		"values": {
			"tests:\n  - {vars: {a: '" + strings.Repeat("{{b}}", 2000) + "', b: '" + strings.Repeat("x", 2000) +
				"'}, input: '{{a}}', assert: [x]}\n", "more than 1048576 bytes",
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := unpack(t, txtar.Parse([]byte("-- secret.md --\nsecret\n-- shop/.git/HEAD --\n"+
				"-- shop/suite.yaml --\n"+test.text)))
			require.NoError(t, os.Symlink("../secret.md", filepath.Join(dir, "link.md")))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "large.md"), make([]byte, 20<<20), 0o600))
			s, err := format(t, "agentv").Convert(t.Context(), filepath.Join(dir, "suite.yaml"), options(dir))
			var all strings.Builder
			if err != nil {
				all.WriteString(err.Error())
			} else {
				assert.Empty(t, s.Playbooks)
				for _, p := range s.Problems {
					all.WriteString(p.What + "\n")
				}
			}
			assert.Contains(t, all.String(), test.want)
			assert.NotContains(t, all.String(), "secret\n")
		})
	}
}

func TestRecogniseAgentV(t *testing.T) {
	for text, want := range map[string]bool{
		"tests: [{input: x}]\n":                    true,
		"evalcases: [{id: x}]\n":                   true,
		"evalcases: [{id: x}]\nvariants: {a: b}\n": false,
		"cases: []\nworkflow: {}\n":                false,
		"tests: [\n":                               false,
		"a: tests\n":                               false,
	} {
		dir := unpack(t, txtar.Parse([]byte("-- shop/suite.yaml --\n"+text)))
		f, found, ok := suite.Recognise(filepath.Join(dir, "suite.yaml"))
		assert.Equal(t, want, ok, text)
		if want {
			assert.Equal(t, "agentv", f.Name)
			assert.Equal(t, filepath.Join(dir, "suite.yaml"), found)
		}
	}
}

// FuzzAgentV checks that whatever a suite says is either a problem of it or in a file that can be read.
func FuzzAgentV(f *testing.F) {
	for _, name := range []string{"agentv", "agentv-january", "agentv-problems", "agentv-more"} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		require.NoError(f, err)
		for _, file := range archive.Files {
			if filepath.Base(file.Name) == "suite.yaml" {
				f.Add(string(file.Data), `{"id": "x", "input": "{{a}}", "assert": ["x"]}`)
			}
		}
	}
	f.Add("tests: more.csv", "input,__expected,__config:__expected:threshold\n\"a\nb\",contains:x,1\n")
	f.Add("tests: more.jsonl", `{"input": [], "turns": [{}], "assert": [{"type": "is-json"}]}`)
	f.Fuzz(func(t *testing.T, text, lines string) {
		dir := filepath.Join(t.TempDir(), "shop")
		require.NoError(t, os.MkdirAll(dir, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "suite.yaml"), []byte(text), 0o600))
		for _, name := range []string{"more.jsonl", "more.csv"} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(lines), 0o600))
		}
		o := options(dir)
		s, err := format(t, "agentv").Convert(t.Context(), filepath.Join(dir, "suite.yaml"), o)
		if err != nil {
			return
		}
		for _, p := range s.Playbooks {
			require.NotEmpty(t, p.Cases)
			_, err := plan.Read(plan.Source{Path: filepath.Join(o.Out, p.File), Data: p.Text}, kinds.All())
			if err != nil {
				require.NotContains(t, err.Error(), "did not find expected", "it must be YAML:\n%s", p.Text)
				s.Refuse(p, err)
			}
		}
		mapped := slices.ContainsFunc(s.Cases, func(c suite.Case) bool { return c.Mapped })
		require.Equal(t, mapped, len(s.Playbooks) == 1)
	})
}

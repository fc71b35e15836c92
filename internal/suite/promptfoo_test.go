package suite_test

import (
	"os"
	"path/filepath"
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

// format returns a row of the table.
func format(t testing.TB, name string) suite.Format {
	t.Helper()
	for _, f := range suite.Formats() {
		if f.Name == name {
			return f
		}
	}
	t.Fatalf("there is no format %s", name)
	return suite.Format{}
}

func TestPromptfoo(t *testing.T) {
	for _, name := range []string{"promptfoo", "promptfoo-problems", "promptfoo-keys"} {
		t.Run(name, func(t *testing.T) {
			archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
			require.NoError(t, err)
			dir := unpack(t, archive)
			o := options(dir)
			o.Out = filepath.Join(dir, "out")
			s, err := format(t, "promptfoo").Convert(t.Context(), dir, o)
			require.NoError(t, err)
			golden.Equal(t, "testdata/"+name+".golden", shown(t, dir, s, o))
		})
	}
}

// The example of the page becomes what the page says.
func TestDocs(t *testing.T) {
	const file = "../../docs/import.md"
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, test := range []struct{ heading, format, file, out string }{
		{"### promptfoo\n", "promptfoo", "promptfooconfig.yaml", "shop.eval.yaml"},
		{"#### A case\n", "plugin-evals", "evals/total/case.yaml", "shop.yaml"},
	} {
		t.Run(test.format, func(t *testing.T) {
			before, section, ok := strings.Cut(string(page), test.heading)
			require.True(t, ok)
			blocks := strings.SplitN(section, "```", 5)
			require.Len(t, blocks, 5)
			given := strings.TrimPrefix(blocks[1], "yaml\n")
			dir := unpack(t, txtar.Parse([]byte("-- shop/"+test.file+" --\n"+given)))
			o := options(dir)
			o.Agent, o.Preset = "codex-acp", ""
			s, err := format(t, test.format).Convert(t.Context(), dir, o)
			require.NoError(t, err)
			require.Empty(t, s.Problems)
			require.Len(t, s.Playbooks, 1)
			assert.Equal(t, test.out, s.Playbooks[0].File)
			want := "yaml\n" + string(s.Playbooks[0].Text)
			if golden.Updating() && blocks[3] != want {
				blocks[3] = want
				text := before + test.heading + strings.Join(blocks, "```")
				require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
			}
			assert.Equal(t, want, blocks[3])
		})
	}
}

func TestPromptfooWithoutPrompts(t *testing.T) {
	dir := unpack(t, txtar.Parse([]byte("-- shop/promptfooconfig.yaml --\nprompts: []\n"+
		"tests: [{vars: {prompt: Go.}, assert: [{type: contains, value: x}]}]\n")))
	s, err := format(t, "promptfoo").Convert(t.Context(), dir, options(dir))
	require.NoError(t, err)
	require.Len(t, s.Problems, 1)
	assert.Equal(t, "there are none: write one, or leave out the key to ask {{prompt}}", s.Problems[0].What)
	assert.False(t, s.Cases[0].Mapped)
}

func TestNoPromptfoo(t *testing.T) {
	for name, test := range map[string]struct{ archive, want string }{
		"nothing":  {"-- shop/README.md --\n", "has no promptfooconfig.yaml, .yml or .json: name the file"},
		"no suite": {"-- shop/promptfooconfig.yaml --\nname: x\n", "has neither prompts nor tests"},
		"no tests": {"-- shop/promptfooconfig.yaml --\nprompts: [x]\ntests: []\n", "has no tests"},
		"no YAML":  {"-- shop/promptfooconfig.yaml --\na: [\n", "promptfooconfig.yaml:1:1: not valid YAML"},
		"no JSON":  {"-- shop/promptfooconfig.json --\n{\n", "promptfooconfig.json:"},
		"aliases":  {"-- shop/promptfooconfig.yaml --\n" + bomb, "more than 100000"},
		"too deep": {"-- shop/promptfooconfig.json --\n" +
			strings.Repeat(`[`, 100) + strings.Repeat(`]`, 100) + "\n", "64"},
		"too many": {
			"-- shop/promptfooconfig.yaml --\nprompts: [x]\ntests: [{vars: {a: " + many + ", b: " + many + "}}]\n",
			"more than 2000 cases",
		},
		"the largest": {"-- shop/promptfooconfig.yaml --\n#" + strings.Repeat("x", 1<<20), "1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := unpack(t, txtar.Parse([]byte(test.archive)))
			_, err := format(t, "promptfoo").Convert(t.Context(), dir, options(dir))
			assert.ErrorContains(t, err, test.want)
		})
	}
}

var (
	many = "[" + strings.Repeat("x, ", 60) + "y]"
	bomb = "prompts: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\n" +
		"d: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e,*e]\n"
)

// Files outside of the repository are not read, whether a path or a link leads there, and values that name each other
// do not grow without end.
func TestPromptfooHostile(t *testing.T) {
	grow := "a: '" + strings.Repeat("{{b}}", 500) + "', b: '" + strings.Repeat("{{c}}", 500) + "', c: '" +
		strings.Repeat("{{d}}", 500) + "', d: '" + strings.Repeat("x", 100) + "'"
	dir := unpack(t, txtar.Parse([]byte(`
-- secret/notes.txt --
secret
-- secret/tests.yaml --
- {description: secret, assert: [{type: contains, value: secret}]}
-- shop/promptfooconfig.yaml --
prompts: ["Ask {{x}}", file://../secret/notes.txt, file://linked.txt]
tests:
  - {description: path, vars: {x: file://../secret/notes.txt}, assert: [{type: contains, value: file:///etc/passwd}]}
  - {description: link, vars: {x: file://linked.txt}, assert: [{type: python, value: file://linked.py}]}
  - {description: grow, vars: {x: "{{a}}", `+grow+`}, assert: [{type: contains, value: x}]}
  - file://../secret/*.yaml
  - file://dir/tests.yaml
  - file://self.yaml
  - file://wide.yaml
-- shop/self.yaml --
- self.yaml
-- shop/wide.yaml --
`+strings.Repeat("- wider.yaml\n", 3000)+`
-- shop/wider.yaml --
`+strings.Repeat("- empty.yaml\n", 3000)+`
-- shop/empty.yaml --
[]
`)))
	for link, target := range map[string]string{
		"linked.txt": "../secret/notes.txt", "linked.py": "../secret/notes.txt", "dir": "../secret",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	o := options(dir)
	s, err := format(t, "promptfoo").Convert(t.Context(), dir, o)
	require.NoError(t, err)
	assert.Empty(t, s.Playbooks)
	all := shown(t, dir, s, o)
	assert.NotContains(t, all, "secret\n")
	for _, want := range []string{
		"promptfooconfig.yaml:1:", "path: vars.x: ", "path: contains.value: ", "link: vars.x: ",
		"link: python: value: \"linked.py\": DIR/linked.py is a symbolic link",
		"grow: prompts: the values of a text have more than 1048576 bytes",
		"promptfooconfig.yaml:6:5: : tests: ", "promptfooconfig.yaml:7:5: : tests: ",
		"self.yaml:1:3: : tests: files of tests name each other too deeply",
	} {
		assert.Contains(t, all, want)
	}
	assert.Equal(t, 1, strings.Count(all, `"empty.yaml": the suite names more than 4000 files`))
}

// FuzzPromptfoo checks that what a configuration says is either a problem or in an eval file that can be read.
func FuzzPromptfoo(f *testing.F) {
	for _, name := range []string{"promptfoo", "promptfoo-problems", "promptfoo-keys"} {
		archive, err := txtar.ParseFile("testdata/" + name + ".txtar")
		require.NoError(f, err)
		f.Add(string(archive.Files[0].Data), "a,__expected\nb,contains: c\n")
	}
	f.Add("prompts: ['{{a}}']\ntests: t.csv\n", "a,__expected\n\"x\ny\",\"regex:^{{a}}$\"\n")
	f.Add("prompts: ['- role: user\n  content: x']\ntests: [{assert: [{type: javascript, value: \"let a=1;a\"}]}]", "")
	f.Fuzz(func(t *testing.T, config, table string) {
		dir := t.TempDir()
		for name, text := range map[string]string{"promptfooconfig.yaml": config, "t.csv": table} {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
		}
		o := options(dir)
		s, err := format(t, "promptfoo").Convert(t.Context(), dir, o)
		if err != nil {
			return
		}
		mapped := 0
		for _, c := range s.Cases {
			if c.Mapped {
				mapped++
			}
		}
		require.Equal(t, mapped > 0, len(s.Playbooks) == 1)
		require.Equal(t, mapped < len(s.Cases), len(s.Problems) > 0 && mapped < len(s.Cases))
		for _, p := range s.Playbooks {
			require.Len(t, p.Cases, mapped)
			_, err := plan.Parse(filepath.Join(o.Out, p.File), p.Text, kinds.All())
			require.NoError(t, err, string(p.Text))
		}
	})
}

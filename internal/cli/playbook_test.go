package cli

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

const playbooks = ".llman/sdd-eval/playbooks"

func TestInit(t *testing.T) {
	dir := projectDir(t)
	file := filepath.Join(playbooks, "demo.yaml")
	got := call(t, dir, "init", "--name", "demo")
	require.Equal(t, called{exitOK, file + "\n", "next: sdd-eval run --playbook " + file + "\n"}, got)

	text := read(t, dir, file)
	first, _, _ := strings.Cut(text, "\n")
	require.Equal(t,
		"# yaml-language-server: $schema=https://raw.githubusercontent.com/StrayDragon/llman/main/artifacts/schema/"+
			"playbooks/en/llman-sdd-eval.schema.json", first)
	p, err := plan.Parse(file, []byte(text), kinds.All())
	require.NoError(t, err)
	require.Equal(t, "demo", p.Name)
	require.Len(t, p.Workflow.Jobs, 2)
	for _, v := range p.Variants {
		require.Equal(t, "fake-acp", v.Agent.Kind, "a newcomer has no agent installed")
	}
	require.Equal(t, "/runs/\n", read(t, dir, ".llman/sdd-eval/.gitignore"))
	require.Equal(t, []string{"demo.yaml"}, names(t, filepath.Join(dir, playbooks)), "nothing temporary is left")
}

// TestInitRealAgents parses the template with its commented variants in use.
func TestInitRealAgents(t *testing.T) {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(template, "{{name}}", "demo")) {
		if rest, ok := strings.CutPrefix(line, "  # "); ok && !strings.HasPrefix(rest, "Real agents") &&
			!strings.HasPrefix(rest, "never a secret") {
			line = "  " + rest
		}
		lines = append(lines, line)
	}
	p, err := plan.Parse("demo.yaml", []byte(strings.Join(lines, "")), kinds.All())
	require.NoError(t, err)
	require.Len(t, p.Variants, 4)
}

func TestInitRefusesToOverwrite(t *testing.T) {
	dir := projectDir(t)
	file := filepath.Join(dir, playbooks, "demo.yaml")
	require.Equal(t, exitOK, call(t, dir, "init", "--name", "demo").code)
	require.NoError(t, os.WriteFile(file, []byte("name: mine\n"), 0o644))

	got := call(t, dir, "init", "--name", "demo")
	require.Equal(t,
		called{exitUsage, "", "sdd-eval: init: " + filepath.Join(playbooks, "demo.yaml") + " already exists\n" +
			"next: sdd-eval init --name demo --force # overwrites it\n"}, got)
	require.Equal(t, "name: mine\n", read(t, dir, filepath.Join(playbooks, "demo.yaml")))

	require.Equal(t, exitOK, call(t, dir, "init", "--name", "demo", "--force").code)
	require.Contains(t, read(t, dir, filepath.Join(playbooks, "demo.yaml")), "name: demo\n")
	require.Equal(t, []string{"demo.yaml"}, names(t, filepath.Dir(file)))
}

// TestInitTogether starts many calls for the same playbook at once: only one of them writes it.
func TestInitTogether(t *testing.T) {
	dir := projectDir(t)
	codes := make([]int, 8)
	var wg sync.WaitGroup
	for i := range codes {
		wg.Go(func() { codes[i] = call(t, dir, "init", "--name", "demo").code })
	}
	wg.Wait()
	ok := 0
	for _, code := range codes {
		if code == exitOK {
			ok++
		} else {
			require.Equal(t, exitUsage, code)
		}
	}
	require.Equal(t, 1, ok)
}

func TestInitNames(t *testing.T) {
	tests := []struct{ name, arg string }{
		{"parent", "../demo"},
		{"absolute", "/tmp/demo"},
		{"hidden", ".demo"},
		{"a file's name", "demo.yaml"},
		{"digit first", "1demo"},
		{"looks like a flag", "-demo"},
		{"space", "my demo"},
		{"line end", "demo\n"},
		{"NUL", "demo\x00"},
		{"other script", "démo"},
		{"long", strings.Repeat("a", 65)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := projectDir(t)
			got := call(t, dir, "init", "--name="+tt.arg)
			require.Equal(t, exitUsage, got.code)
			require.Contains(t, got.stderr, safeName.String())
			require.Equal(t, []string{".git"}, names(t, dir), "nothing is written")
		})
	}
	require.Equal(t, exitOK, call(t, projectDir(t), "init", "--name", strings.Repeat("a", 64)).code)
}

func TestInitLocalSchema(t *testing.T) {
	dir := projectDir(t)
	require.Equal(t, exitOK, call(t, dir, "init", "--name", "one", "--schema", "local").code)
	require.Equal(t, exitOK, call(t, dir, "init", "--name", "two", "--schema", "local").code,
		"the schema is ours to replace")
	first, _, _ := strings.Cut(read(t, dir, filepath.Join(playbooks, "two.yaml")), "\n")
	require.Equal(t, "# yaml-language-server: $schema=./sdd-eval.schema.json", first)
	require.Equal(t, call(t, dir, "schema").stdout, read(t, dir, filepath.Join(playbooks, "sdd-eval.schema.json")))
}

func TestInitRoot(t *testing.T) {
	dir := projectDir(t)
	sub := filepath.Join(dir, "a", "b")
	require.NoError(t, os.MkdirAll(sub, 0o755))
	got := call(t, sub, "init", "--name", "demo")
	require.Equal(t, filepath.Join(dir, playbooks, "demo.yaml")+"\n", got.stdout, "the project's root is above")
	got = call(t, sub, "init", "--name", "demo", "--root", ".")
	require.Equal(t, filepath.Join(playbooks, "demo.yaml")+"\n", got.stdout, "relative to the working directory")
	got = call(t, sub, "init", "--name", "demo", "--root", "nowhere")
	require.Equal(t, exitUsage, got.code)
	require.Contains(t, got.stderr, "nowhere")
}

func read(t *testing.T, dir, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, name))
	require.NoError(t, err)
	return string(data)
}

// names returns the names in a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

const validPlaybook = `task: {prompt: Do it.}
variants: {a: {agent: {kind: fake-acp}}, b: {agent: {kind: fake-acp}}}
trials: {count: 3}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [b, a]}}
      steps: [{uses: builtin:sdd-eval/workspace.prepare}, {uses: builtin:sdd-eval/acp.prompt}]
`

func TestValidate(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"good.yaml": validPlaybook,
		"bad.yaml":  "variants: {}\nworkflow: {}\nversion: 1\n",
		"*.yaml":    validPlaybook,
		"not-yaml":  "a: [\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	const others = ": note: workspace: the agent does not get *.yaml, bad.yaml (another playbook)\n"
	tests := []struct {
		name string
		args []string
		want called
	}{
		{"good", []string{"good.yaml"}, called{0, "ok good.yaml: 1 job, 6 units\n", "good.yaml" + others}},
		{
			"absolute",
			[]string{filepath.Join(dir, "good.yaml")},
			called{
				0, "ok " + filepath.Join(dir, "good.yaml") + ": 1 job, 6 units\n",
				filepath.Join(dir, "good.yaml") + others,
			},
		},
		{
			"missing",
			[]string{"nowhere.yaml"},
			called{2, "", "load playbook: open " + filepath.Join(dir, "nowhere.yaml") +
				": no such file or directory\nsdd-eval: validate: 1 of 1 file not valid\n" +
				"next: correct the path, or let sdd-eval init write a first playbook\n"},
		},
		{
			"directory",
			[]string{"."},
			called{2, "", "load playbook: read " + dir + ": is a directory: name a playbook in it\n" +
				"sdd-eval: validate: 1 of 1 file not valid\n"},
		},
		{"a glob is a name", []string{"g*.yaml"}, called{2, "", "load playbook: open " + filepath.Join(dir, "g*.yaml") +
			": no such file or directory: the shell found no file for this pattern\nsdd-eval: " +
			"validate: 1 of 1 file not valid\n"}},
		{
			"empty name",
			[]string{""},
			called{2, "", "the file name is empty\nsdd-eval: validate: 1 of 1 file not valid\n"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, call(t, dir, append([]string{"validate"}, tt.args...)...))
		})
	}

	t.Run("all errors of all files", func(t *testing.T) {
		got := call(t, dir, "validate", "bad.yaml", "good.yaml", "not-yaml")
		require.Equal(t, exitUsage, got.code)
		require.Equal(t, "ok good.yaml: 1 job, 6 units\n", got.stdout)
		golden.Equal(t, "testdata/validate.golden", got.stderr)
	})
}

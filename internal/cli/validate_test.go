package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

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
	tests := []struct {
		name string
		args []string
		want called
	}{
		{"good", []string{"good.yaml"}, called{0, "ok good.yaml: 1 job, 6 units\n", ""}},
		{"absolute", []string{filepath.Join(dir, "good.yaml")}, called{0, "ok " + filepath.Join(dir, "good.yaml") + ": 1 job, 6 units\n", ""}},
		{"missing", []string{"nowhere.yaml"}, called{2, "", "load playbook: open " + filepath.Join(dir, "nowhere.yaml") +
			": no such file or directory\nsdd-eval: validate: 1 of 1 file not valid\n"}},
		{"directory", []string{"."}, called{2, "", "load playbook: read " + dir + ": is a directory: name a playbook in it\n" +
			"sdd-eval: validate: 1 of 1 file not valid\n"}},
		{"a glob is a name", []string{"g*.yaml"}, called{2, "", "load playbook: open " + filepath.Join(dir, "g*.yaml") +
			": no such file or directory: patterns are for the shell, which found no file for this one\nsdd-eval: validate: 1 of 1 file not valid\n"}},
		{"empty name", []string{""}, called{2, "", "the name of a file is empty\nsdd-eval: validate: 1 of 1 file not valid\n"}},
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

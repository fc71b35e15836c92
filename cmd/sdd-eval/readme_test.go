package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadme does what README.md says of its first example, evals/changelog. docs/decisions.md has all that it prints.
func TestReadme(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, part := range []string{"evals/changelog", "cassettes/evals/changelog"} {
		require.NoError(t, os.CopyFS(filepath.Join(dir, part), os.DirFS(filepath.Join(root, part))))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.mod"), []byte("module example.com/mugs\n"), 0o644))
	readme := text(t, filepath.Join(root, "README.md"))
	blocks := regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```").FindAllStringSubmatch(readme, -1)
	require.Len(t, blocks, 4, "commands, the example, its comparison, commands")
	require.Equal(t, "go run github.com/sdd-eval/sdd-eval/cmd/sdd-eval@latest init\ngo test ./evals\n", blocks[0][2],
		"TestScript/init_module carries them out")
	require.Contains(t, text(t, filepath.Join(dir, "evals/changelog/changelog.eval.yaml")), blocks[1][2])

	run := func(line string) string {
		require.Contains(t, strings.Join(strings.Fields(readme), " "), "`sdd-eval "+line+"`")
		cmd := exec.Command(filepath.Join(bin, "sdd-eval"), strings.Fields(line)...)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		cmd.Env = append(os.Environ(), "NO_COLOR=1")
		out, err := cmd.Output()
		require.NoError(t, err, line)
		return string(out)
	}
	run("run --mode replay evals/changelog/changelog.eval.yaml")
	compared := run("compare latest --a without --b with")
	require.True(t, strings.HasPrefix(compared, blocks[2][2]), "README.md shows another comparison than\n%s", compared)
	require.Contains(t, text(t, filepath.Join(root, "docs/decisions.md")), "```\n"+compared+"```\n", compared)
}

func text(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return string(data)
}

package style

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// TestStyleOfATool writes the example of a tool's style beside a project's own files, and holds what the page says of
// it: the paths are those that the tool's init writes, and none of its markers is left.
func TestStyleOfATool(t *testing.T) {
	const dir = "../../fixtures/styles/llman"
	page, err := os.ReadFile("../../docs/styles.md")
	require.NoError(t, err)
	example := regexp.MustCompile("(?s)Name it, and compare:\n\n```yaml\n(.+?)```").FindSubmatch(page)
	require.NotNil(t, example)
	require.NotNil(t, doc.Parse("styles.md", example[1]).Root)
	require.Contains(t, string(example[1]), "llman: {dir: "+dir+"}")

	s, err := Load("llman", dir)
	require.NoError(t, err)
	want := []string{
		"AGENTS.md", "llmanspec/AGENTS.md", "llmanspec/changes/archive/.gitkeep", "llmanspec/config.yaml",
		"llmanspec/specs/.gitkeep",
	}
	for _, step := range []string{"apply", "archive", "explore", "propose", "verify"} {
		want = append(want, ".agents/skills/llman-sdd-"+step+"/SKILL.md")
	}
	slices.Sort(want)
	require.Equal(t, want, slices.Sorted(maps.Keys(s.Files())))
	for path, text := range s.Files() {
		require.NotContains(t, string(text), "LLMANSPEC:", path)
		if name, ok := strings.CutSuffix(path, "/SKILL.md"); ok {
			step := filepath.Base(name)
			require.Contains(t, string(text), "\nname: "+step+"\n")
			require.Contains(t, string(s.Files()["AGENTS.md"]), "`"+step+"`", "a step that nobody is sent to")
		}
	}

	workspace := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(workspace, "AGENTS.md"), []byte("Shop rules\n"), 0o644))
	root, err := os.OpenRoot(workspace)
	require.NoError(t, err)
	defer root.Close()
	_, err = s.Write(root)
	require.NoError(t, err)
	for _, path := range want {
		require.FileExists(t, filepath.Join(workspace, path))
	}
	agents, err := os.ReadFile(filepath.Join(workspace, "AGENTS.md"))
	require.NoError(t, err)
	require.Contains(t, string(agents), "Shop rules\n")
	require.Contains(t, string(agents), "<!-- sdd-eval:begin -->\n# Specifications first")
	again, err := s.Write(root)
	require.NoError(t, err)
	require.Empty(t, again)
}

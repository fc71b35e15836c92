//go:build skills

package livetest

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
)

// TestRealSkills records the cases of our own skills anew, with both arms and the agent that judges: the behaviour is
// that of the committed recordings, and no check is lost. `make live-skills` runs it, since it takes a minute.
func TestRealSkills(t *testing.T) {
	bin := agentsBin(t)
	requireAgents(t, bin)
	const fixtures = "../../fixtures/skills"
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, os.DirFS(fixtures)))
	require.NoError(t, exec.Command("git", "init", "--quiet", root).Run())
	c := exec.Command(buildCommand(t), "skill", root, "--all", "--agent", "claude-code-acp", "--preset", "loopback",
		"--config-dir", startModel(t, "../../fixtures/models"), "--yes", "--mode", "record", "--parallel", "2")
	c.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"), "CI=",
		"XDG_CONFIG_HOME="+t.TempDir())
	out, err := c.CombinedOutput()
	require.NoError(t, err, "%s", out)
	assert.Contains(t, string(out), "\n1 failed, 5 passed\n", "iso-dates")
	assert.Contains(t, string(out), "\n2 references failed, 4 passed\n", "release-notes")
	compared := 0
	require.NoError(t, filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, file)
		if err != nil || !strings.Contains(filepath.ToSlash(name), ".sdd-eval/cassettes/") ||
			filepath.Ext(name) != ".jsonl" || strings.Contains(name, "-triggers/") ||
			strings.HasSuffix(name, ".judges.jsonl") {
			return err
		}
		was, err := cassette.Read(filepath.Join(fixtures, name))
		require.NoError(t, err)
		is, err := cassette.Read(file)
		require.NoError(t, err)
		diffs, err := cassette.Compare(was, is)
		assert.Empty(t, diffs, name)
		compared++
		return err
	}))
	assert.Equal(t, 12, compared)
}

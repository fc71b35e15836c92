//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSkillFixtures replays what was recorded of our own skills as a CI job does that has nothing but the command and
// git: no network, no key, no home, no Node.
func TestSkillFixtures(t *testing.T) {
	t.Parallel()
	dir, programs := t.TempDir(), t.TempDir()
	at := filepath.Join(dir, "fixtures", "skills")
	require.NoError(t, os.CopyFS(at, os.DirFS(filepath.Join(root, "fixtures", "skills"))))
	require.NoError(t, exec.Command("git", "init", "--quiet", dir).Run())
	git, err := exec.LookPath("git")
	require.NoError(t, err)
	require.NoError(t, os.Symlink(git, filepath.Join(programs, "git")))
	tests := []struct {
		skill string
		shows []string
	}{
		{"release-notes", []string{
			`The note says what customers see, not what was done in the code +✓ +✗ +better`,
			`The list of changes was read +✓ +✓`, `A change that no customer sees has none +✓ +✗ +better`,
			`baseline +\S+ of \S+: 18 checks as before`,
			`baseline +\S+baseline-triggers.json of \S+: 12 checks as before`,
		}},
		{"iso-dates", []string{
			`The date can be sorted +✓ +✓`, `The sign names the day as people say it +✗ +✓ +worse`,
			`A customer who walks past understands the sign at a glance +✗ +✓ +worse`,
			`baseline +\S+baseline.json of \S+: 12 checks as before`,
			`baseline +\S+baseline-triggers.json of \S+: 12 checks as before`,
		}},
	}
	replay := func(t *testing.T, skill string, more ...string) (code int, said string) {
		args := append([]string{filepath.Join(bin, "sdd-eval"), "skill", filepath.Join(at, skill)}, more...)
		if exec.Command("unshare", "--map-root-user", "--net", "true").Run() == nil {
			args = append([]string{"unshare", "--map-root-user", "--net"}, args...)
		}
		c := exec.Command(args[0], args[1:]...)
		c.Dir, c.Env = dir, []string{"CI=true", "PATH=" + programs}
		out, err := c.CombinedOutput()
		if _, exited := err.(*exec.ExitError); !exited {
			require.NoError(t, err)
		}
		return c.ProcessState.ExitCode(), string(out)
	}
	for _, tt := range tests {
		t.Run(tt.skill, func(t *testing.T) {
			code, said := replay(t, tt.skill)
			require.Zero(t, code, said)
			for _, line := range tt.shows {
				require.Regexp(t, line, said)
			}
			require.Contains(t, said, "0 sessions with the agent, 6 replayed")
		})
	}
	t.Run("triggers", func(t *testing.T) {
		code, said := replay(t, "release-notes", "--triggers")
		require.Zero(t, code, said)
		require.Regexp(t, `release-notes +with +100% +100% +6 +0 +0 +6 +0`, said)
		code, said = replay(t, "iso-dates", "--triggers")
		require.Zero(t, code, "its triggers miss as its baseline says: %s", said)
		require.Regexp(t, `iso-dates +with +50% +50% +3 +3 +3 +3 +0`, said)
		require.Contains(t, said, "0 sessions with the agent, 12 replayed")
	})
	t.Run("changed by a stranger", func(t *testing.T) {
		file := filepath.Join(at, "release-notes", "SKILL.md")
		require.NoError(t, os.WriteFile(file, []byte("---\nname: release-notes\ndescription: d\n---\n"), 0o600))
		code, said := replay(t, "release-notes")
		require.Equal(t, 3, code, said)
		require.Contains(t, said, "the recordings of 3 cases are stale or missing: a maintainer records them")
		require.Regexp(t, `next: sdd-eval skill \S+ --case eval-1,eval-2,eval-3`, said)
	})
}

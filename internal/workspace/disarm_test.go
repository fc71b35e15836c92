package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// TestDisarm plants commands in the ways that git has, sees them run when a person looks, and not any more when the
// workspace is disarmed.
func TestDisarm(t *testing.T) {
	const mark = `touch "$MARK"; false`
	home := t.TempDir()
	marker := filepath.Join(t.TempDir(), "ran")
	run := func(dir, program string, args ...string) string {
		cmd := exec.Command(program, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "MARK="+marker,
			"GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@b", "GIT_COMMITTER_NAME=a",
			"GIT_COMMITTER_EMAIL=a@b", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		out, _ := cmd.CombinedOutput() // a planted command fails
		return string(out)
	}
	repository := func(dir string) {
		run(dir, "git", "init", "-q")
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("a\n"), 0o644))
		run(dir, "git", "add", "a.txt")
		run(dir, "git", "commit", "-qm", "first")
	}
	sh := func(script string) func(string) {
		return func(dir string) {
			repository(dir)
			const fsmonitor = `fsmonitor() { git -C "$1" config core.fsmonitor '` + mark + `'; }; `
			out := run(dir, "sh", "-c", "set -e; "+fsmonitor+script)
			require.Empty(t, strings.TrimSpace(out))
		}
	}
	for name, plant := range map[string]func(dir string){
		"config":   sh(`fsmonitor .`),
		"included": sh(`fsmonitor .; mv .git/config x; git init -q 2>/dev/null; git config include.path ../x`),
		"config of the work tree": sh(`git config extensions.worktreeConfig true
			git config --worktree core.fsmonitor '` + mark + `'`),
		"hook": sh(`printf '#!/bin/sh\n` + mark + `\n' >.git/hooks/post-index-change
			chmod +x .git/hooks/post-index-change; touch -d 2001-01-01 a.txt`),
		"link to a repository": sh(`fsmonitor .; mv .git data; ln -s data .git`),
		"file that names one":  sh(`fsmonitor .; mv .git data; echo 'gitdir: data' >.git`),
		"common directory": sh(`fsmonitor .; mv .git data; mkdir .git
			mv data/HEAD data/index .git; echo ../data >.git/commondir`),
		"where a person stands": sh(`fsmonitor .; git config core.worktree .; git config core.bare false
			cp -r .git/* .; rm -r .git`),
		"in a directory with modes": sh(`fsmonitor .; chmod 500 .git`),
		"submodule": sh(`git init -q s; cd s; cp ../a.txt .; git add a.txt; git commit -qm s; cd ..
			git add s 2>/dev/null; git commit -qm s; fsmonitor s`),
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "work")
			require.NoError(t, os.Mkdir(dir, 0o755))
			plant(dir)
			_ = os.Remove(marker)
			out := run(dir, "git", "status")
			require.FileExists(t, marker, "the attack does not work: %s", out)
			require.NoError(t, os.Remove(marker))

			require.NoError(t, workspace.Disarm(t.Context(), dir))
			out = run(dir, "git", "status")
			assert.NoFileExists(t, marker, out)
			if _, err := os.Lstat(filepath.Join(dir, ".git")); err == nil {
				assert.Contains(t, run(dir, "git", "log", "--oneline"), " first")
			}
		})
	}
}

// TestDisarmLeaves: what is no repository stays as it is, and links lead nowhere.
func TestDisarmLeaves(t *testing.T) {
	dir, outside := t.TempDir(), t.TempDir()
	for _, path := range []string{
		filepath.Join(dir, "app/config"), filepath.Join(dir, "app/hooks/a"), filepath.Join(dir, "app/objects/a"),
		filepath.Join(dir, ".hg/hgrc"), filepath.Join(dir, ".hg/store/a"), filepath.Join(dir, ".hg/requires"),
		filepath.Join(outside, "config"), filepath.Join(outside, "objects"), filepath.Join(outside, "refs"),
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, nil, 0o644))
	}
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "link")))
	require.NoError(t, workspace.Disarm(t.Context(), dir))
	assert.NoFileExists(t, filepath.Join(dir, ".hg/hgrc"))
	for _, path := range []string{".hg/requires", "app/config", "app/hooks/a", "link/config"} {
		assert.FileExists(t, filepath.Join(dir, path))
	}
}

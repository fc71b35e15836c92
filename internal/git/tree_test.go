package git_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/git"
)

// repository makes one with a commit, and returns a function that runs git in it.
func repository(t *testing.T) (dir string, run func(args ...string) string) {
	t.Helper()
	dir = t.TempDir()
	run = func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{
			"-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false",
		}, args...)...)
		cmd.Dir, cmd.Env = dir, git.Environ()
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	run("init", "-q", "-b", "main")
	return dir, run
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// read returns what a commit has, with the first byte of the kind before each content.
func read(t *testing.T, ctx context.Context, top, commit, dir string) map[string]string {
	t.Helper()
	entries, err := git.List(ctx, top, commit, dir)
	require.NoError(t, err)
	got := make(map[string]string)
	var with []git.Entry
	for _, e := range entries {
		if e.Kind == git.Submodule {
			got[e.Path] = "s"
			continue
		}
		with = append(with, e)
	}
	require.NoError(t, git.Read(ctx, top, with, func(e git.Entry, data []byte) error {
		got[e.Path] = string(e.Kind)[:1] + " " + string(data)
		return nil
	}))
	return got
}

// TestHostile reads a commit of a repository whose configuration and attributes would run programs: nothing runs, and
// what was committed is read as it is.
func TestHostile(t *testing.T) {
	dir, run := repository(t)
	marker := filepath.Join(t.TempDir(), "marker")
	write(t, filepath.Join(dir, "sub", "a\nb.txt"), "one\n")
	write(t, filepath.Join(dir, "sub", "kept.txt"), "kept\n$Id$\r\n")
	write(t, filepath.Join(dir, "top.txt"), "top")
	require.NoError(t, os.Symlink("../../outside", filepath.Join(dir, "sub", "link")))
	run("add", "-A")
	run("update-index", "--chmod=+x", "top.txt")
	run("update-index", "--add", "--cacheinfo", "100644,"+run("hash-object", "top.txt")+",sub/\xff")
	run("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",sub/module")
	run("commit", "-q", "-m", "one")
	id := run("rev-parse", "HEAD")

	touch := "touch " + marker
	write(t, filepath.Join(dir, ".git", "info", "attributes"),
		"* filter=evil diff=evil ident export-ignore text eol=crlf\n")
	for _, kv := range [][2]string{
		{"filter.evil.smudge", touch},
		{"filter.evil.process", touch},
		{"diff.evil.textconv", touch},
		{"core.fsmonitor", touch},
		{"core.sshCommand", touch},
		{"core.pager", touch},
		{"core.sparseCheckout", "true"},
		{"core.worktree", t.TempDir()},
		{"remote.origin.url", "ext::" + touch},
		{"remote.origin.promisor", "true"},
		{"extensions.partialClone", "origin"},
		{"core.repositoryFormatVersion", "1"},
	} {
		run("config", kv[0], kv[1])
	}
	require.Equal(t, map[string]string{
		"a\nb.txt": "f one\n", "\xff": "f top", "kept.txt": "f kept\n$Id$\r\n",
		"link": "l ../../outside", "module": "s",
	}, read(t, t.Context(), dir, id, "sub"))
	require.Equal(t, "p top", read(t, t.Context(), dir, id, ".")["top.txt"])
	tracked, err := git.Tracked(t.Context(), dir, "sub")
	require.NoError(t, err)
	require.Equal(t, map[string]bool{
		"sub": true, "sub/a\nb.txt": true, "sub/\xff": true, "sub/kept.txt": true, "sub/link": true, "sub/module": true,
	}, tracked)

	// What a partial clone lacks is fetched from nowhere.
	blob := run("rev-parse", "HEAD:top.txt")
	require.NoError(t, os.Remove(filepath.Join(dir, ".git", "objects", blob[:2], blob[2:])))
	_, err = git.List(t.Context(), dir, id, ".")
	require.Error(t, err)
	require.NoFileExists(t, marker)
	_, err = git.List(t.Context(), dir, id, "none")
	require.ErrorContains(t, err, "has no directory none")
}

// TestCommit holds what names commits, and which names move.
func TestCommit(t *testing.T) {
	dir, run := repository(t)
	_, err := git.Commit(t.Context(), dir, "HEAD")
	require.ErrorContains(t, err, `"HEAD" names no commit`, "the branch is unborn")
	run("commit", "-q", "--allow-empty", "-m", "one")
	run("tag", "v1.0")
	id := run("rev-parse", "HEAD")
	run("worktree", "add", "-q", "--detach", filepath.Join(dir, "linked"))
	for ref, moves := range map[string]bool{
		"HEAD": true, "main": true, "refs/heads/main": true, "HEAD^0": true, "v1.0": false, "refs/tags/v1.0": false,
		"v1.0~0": false, id: false, id[:8]: false, id[:8] + "^0": false,
	} {
		for _, at := range []string{dir, filepath.Join(dir, "linked")} {
			got, err := git.Commit(t.Context(), at, ref)
			require.NoError(t, err, ref)
			require.Equal(t, id, got, ref)
			require.Equal(t, moves, git.Moves(t.Context(), at, ref, id), ref)
		}
	}
	for _, ref := range []string{"none", "--all", "", "HEAD:", "v1.0\nHEAD"} {
		_, err := git.Commit(t.Context(), dir, ref)
		require.ErrorContains(t, err, "names no commit", ref)
	}
	require.Equal(t, dir, git.Top(filepath.Join(dir, "gone", "deeper")))
	require.Empty(t, git.Top(t.TempDir()))
	none := filepath.Join(dir, "none") // whose .git is no repository, below one that is
	write(t, filepath.Join(none, ".git", "HEAD"), "")
	_, err = git.Tracked(t.Context(), none, ".")
	require.ErrorContains(t, err, "not a git repository")
	t.Setenv("PATH", t.TempDir())
	_, err = git.Commit(t.Context(), dir, "HEAD")
	require.ErrorContains(t, err, "install git")
}

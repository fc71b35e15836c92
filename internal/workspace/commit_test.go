package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/git"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// committed makes a repository with a commit, of which the work tree has nothing left, and returns the commit.
func committed(t *testing.T) (dir, id string) {
	t.Helper()
	dir = t.TempDir()
	run := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
		cmd.Dir, cmd.Env = dir, git.Environ()
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	run("init", "-q", "-b", "main")
	for name, text := range map[string]string{
		"svc/main.go": "package main\n", "svc/run.sh": "#!/bin/sh\n", "svc/.env": "A=1", "svc/dist/a.js": "a",
		"svc/key.txt":      "-----BEGIN RSA PRIVATE KEY-----\n",
		"svc/big.bin":      "version https://git-lfs.github.com/spec/v1\n",
		"svc/evals/p.yaml": "playbook", "svc/left/out.txt": "x", "README": "not in the directory",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	require.NoError(t, os.Symlink("main.go", filepath.Join(dir, "svc", "link")))
	require.NoError(t, os.Symlink("../../out", filepath.Join(dir, "svc", "away")))
	run("add", "-A", "-f")
	run("update-index", "--chmod=+x", "svc/run.sh")
	run("update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",svc/module")
	run("commit", "-q", "-m", "one")
	id = run("rev-parse", "HEAD")
	require.NoError(t, os.RemoveAll(filepath.Join(dir, "svc")))
	return dir, id
}

// TestCommitted holds that a workspace of a commit is that of a directory with the same files, on disk and in memory,
// and that it can be written again from what a run keeps.
func TestCommitted(t *testing.T) {
	dir, id := committed(t)
	src := workspace.Source{
		Dir: filepath.Join(dir, "svc"), Commit: id, Exclude: []string{"left/**"},
		Hide: func(_ string, head []byte) string {
			if string(head) == "playbook" {
				return "hidden"
			}
			return ""
		},
	}
	tmpl, err := workspace.Load(t.Context(), src)
	require.NoError(t, err)
	reasons := make(map[string]string)
	for _, n := range tmpl.LeftOut() {
		reasons[n.Path] = n.Reason
	}
	require.Equal(t, map[string]string{
		".env": "looks like a secret by its name", "dist": "not copied by default",
		"key.txt": "looks like a private key by its content", "evals/p.yaml": "hidden",
		"away":    "symbolic link that may lead outside: ../../out",
		"module":  "submodule, whose files are not in the commit",
		"big.bin": "content that Git LFS keeps elsewhere: its pointer is copied",
	}, reasons)

	dst := filepath.Join(t.TempDir(), "ws")
	m, _, err := tmpl.Prepare(t.Context(), dst, nil)
	require.NoError(t, err)
	again, err := workspace.Snapshot(t.Context(), dst)
	require.NoError(t, err)
	require.Equal(t, m, again)
	require.Equal(t, m.Digest(), tmpl.Digest())
	e, _ := m.Lookup("run.sh")
	require.True(t, e.Exec)
	e, _ = m.Lookup("link")
	require.Equal(t, "main.go", e.Target)
	require.NoDirExists(t, filepath.Join(dst, "evals"), "of which nothing is copied")

	overlay, _, err := tmpl.Overlay(workspace.Seeds(map[string]string{"main.go": "changed", "new.txt": "new"}))
	require.NoError(t, err)
	text, err := overlay.ReadFile("run.sh")
	require.NoError(t, err)
	require.Equal(t, "#!/bin/sh\n", string(text))
	kept, err := overlay.Keep()
	require.NoError(t, err)
	list, err := tmpl.List("svc")
	require.NoError(t, err)
	back := filepath.Join(t.TempDir(), "back")
	require.NoError(t, workspace.Rebuild(t.Context(), dir, list, kept, back))
	rebuilt, err := workspace.Snapshot(t.Context(), back)
	require.NoError(t, err)
	require.Equal(t, overlay.Manifest(), rebuilt)

	other := strings.Replace(string(list), id, strings.Repeat("0", 40), 1)
	require.ErrorContains(t, workspace.Rebuild(t.Context(), dir, []byte(other), kept, filepath.Join(t.TempDir(), "no")),
		"the template is gone")
	prepared, _, err := workspace.Prepare(t.Context(), src, filepath.Join(t.TempDir(), "direct"))
	require.NoError(t, err)
	require.Equal(t, m.Digest(), prepared.Digest())

	src.Dir = filepath.Join(dir, "none")
	_, err = workspace.Load(t.Context(), src)
	require.ErrorContains(t, err, "has no directory none")
	src.Dir = t.TempDir()
	_, err = workspace.Load(t.Context(), src)
	require.ErrorContains(t, err, "is in no git repository")
}

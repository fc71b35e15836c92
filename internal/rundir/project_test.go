package rundir

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProjectRoot(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	for _, dir := range []string{
		"home/plain/sub", "home/project/.git", "home/project/sub/deep", "worktree/sub", "dotfiles/.git",
		"dotfiles/plain",
	} {
		require.NoError(t, os.MkdirAll(filepath.Join(base, dir), 0o755))
	}
	require.NoError(t, os.WriteFile(filepath.Join(base, "worktree", ".git"), []byte("gitdir: elsewhere\n"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(base, "file"), nil, 0o644))
	require.NoError(t, os.Symlink("home", filepath.Join(base, "home-link")))
	require.NoError(t, os.Symlink("home/project", filepath.Join(base, "project-link")))

	tests := []struct {
		name, reason     string
		dir              string
		override, claude string
		home             string
		want, err        string
	}{
		{name: "git root", dir: "home/project/sub/deep", want: "home/project"},
		{name: "git root itself", dir: "home/project", want: "home/project"},
		{name: "git file", reason: "a worktree has a file", dir: "worktree/sub", want: "worktree"},
		{name: "no git", dir: "home/plain/sub", want: "home/plain/sub"},
		{name: "link", reason: "paths are without links", dir: "project-link/sub", want: "home/project"},
		{name: "variable", reason: "before git", dir: "home/project", claude: "home/plain", want: "home/plain"},
		{
			name: "override", reason: "before the variable", dir: "home/project", override: "sub",
			claude: "home/plain", want: "home/project/sub",
		},
		{name: "override upwards", dir: "home/project/sub", override: "../..", err: "by --root would be the home "},
		{name: "missing override", dir: "home/project", override: "none", err: "the project root by --root: lstat "},
		{name: "override is a file", dir: "home", override: "../file", err: "file is not a directory"},
		{name: "missing variable", dir: "home/project", claude: "none", err: "by CLAUDE_PROJECT_DIR: lstat "},
		{name: "home", dir: "home", err: "by the working directory would be the home directory"},
		{name: "home by a link", dir: "home-link", err: "would be the home directory"},
		{name: "home is a link", dir: "home", home: "home-link", err: "would be the home directory"},
		{name: "variable is home", dir: "home/project", claude: "home-link", err: "PROJECT_DIR would be the home"},
		{
			name: "git root is home", reason: "of people who keep it in git", dir: "dotfiles/plain", home: "dotfiles",
			err: "would be the home directory",
		},
		{name: "home unknown", dir: "home", home: "none", want: "home"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			env := map[string]string{"HOME": filepath.Join(base, "home")}
			if tt.home != "" {
				env["HOME"] = filepath.Join(base, tt.home)
			}
			env["USERPROFILE"] = env["HOME"]
			if tt.claude != "" {
				env["CLAUDE_PROJECT_DIR"] = filepath.Join(base, tt.claude)
			}
			getenv := func(name string) string { return env[name] }
			got, err := ProjectRoot(filepath.Join(base, tt.dir), tt.override, getenv)
			if tt.err != "" {
				require.ErrorContains(t, err, tt.err, tt.reason)
				return
			}
			require.NoError(t, err)
			require.Equal(t, filepath.Join(base, tt.want), got, tt.reason)
		})
	}
}

// TestProjectRootOfSeveralLines: the path of a run must be one line of output.
func TestProjectRootOfSeveralLines(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no path has line breaks there")
	}
	dir := filepath.Join(t.TempDir(), "two\nlines")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	_, err := ProjectRoot(t.TempDir(), dir, func(string) string { return "" })
	require.ErrorContains(t, err, "has a line break: rename it")
}

func TestEnsureIgnored(t *testing.T) {
	tests := []struct{ name, before, after string }{
		{"none", "", "/test-output/\n"},
		{"others", "/bin/\n", "/bin/\n/test-output/\n"},
		{"no newline at the end", "/bin/", "/bin/\n/test-output/\n"},
		{"line endings of Windows", "/bin/\r\n*.test", "/bin/\r\n*.test\r\n/test-output/\r\n"},
		{"there", "/test-output/\n/bin/", "/test-output/\n/bin/"},
		{"there in another form", "test-output \r\n", "test-output \r\n"},
		{"a comment", "# /test-output/\n", "# /test-output/\n/test-output/\n"},
		{"taken back", "/test-output/\n!/test-output/\n", "/test-output/\n!/test-output/\n/test-output/\n"},
		{"another directory", "/x/test-output/\n", "/x/test-output/\n/test-output/\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			if tt.before != "" {
				require.NoError(t, os.WriteFile(filepath.Join(root, ".gitignore"), []byte(tt.before), 0o644))
			}
			for range 2 {
				require.NoError(t, EnsureIgnored(root))
				got, err := os.ReadFile(filepath.Join(root, ".gitignore"))
				require.NoError(t, err)
				require.Equal(t, tt.after, string(got))
				got, err = os.ReadFile(filepath.Join(root, ".llman", "sdd-eval", ".gitignore"))
				require.NoError(t, err)
				require.Equal(t, "/runs/\n", string(got))
			}
		})
	}
	root := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(root, ".gitignore"), 0o755))
	require.ErrorContains(t, EnsureIgnored(root), "ignore /test-output/ in "+root)
}

// TestGitIgnores asks git itself.
func TestGitIgnores(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not here:", err)
	}
	root := t.TempDir()
	require.NoError(t, exec.Command(git, "init", "-q", root).Run())
	run := newRun(t, root, demo(1))
	status := func() string {
		status := exec.Command(git, "status", "--porcelain", "--untracked-files=all")
		status.Dir = root
		out, err := status.Output()
		require.NoError(t, err)
		return string(out)
	}
	require.Empty(t, status(), "the first run makes sure of it, without init")
	require.NoError(t, EnsureIgnored(root))
	require.NoError(t, os.Mkdir(filepath.Join(root, "test-output"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "test-output", "x"), nil, 0o644))
	require.FileExists(t, filepath.Join(run.Dir(), "manifest.json"))
	require.Equal(t, "?? .gitignore\n?? .llman/sdd-eval/.gitignore\n", status())
}

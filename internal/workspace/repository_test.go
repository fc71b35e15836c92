package workspace_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/git"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// gitIn runs git in a directory.
func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.org"}, args...)...)
	cmd.Dir, cmd.Env = dir, git.Environ()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	return string(out)
}

// copied returns the files and links that a template has, and why others are left out.
func copied(t *testing.T, src workspace.Source) (files []string, left map[string]string, tmpl *workspace.Template) {
	t.Helper()
	tmpl, err := workspace.Load(t.Context(), src)
	require.NoError(t, err)
	m, notes, err := tmpl.Prepare(t.Context(), filepath.Join(t.TempDir(), "ws"), nil)
	require.NoError(t, err)
	left = make(map[string]string)
	for _, n := range notes {
		left[n.Path] = n.Reason
	}
	for _, e := range m.Entries {
		if e.Kind != workspace.Dir {
			files = append(files, e.Path)
		} else if e.Path != "empty" {
			require.True(t, slices.ContainsFunc(m.Entries, func(f workspace.Entry) bool {
				return strings.HasPrefix(f.Path, e.Path+"/")
			}), "%s has nothing", e.Path)
		}
	}
	return files, left, tmpl
}

// TestGit holds what of a repository's directory is copied to what git says.
func TestGit(t *testing.T) {
	top := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(top, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	}
	gitIn(t, top, "init", "-q", "-b", "main")
	write(".git/info/exclude", "# rules\nprivate.txt\n")
	write(".gitignore", "*.log\nsrc/gen/*\n!src/gen/keep.txt\n/built/\n")
	write("src/.gitignore", "!loud.log\nlocal/\n")
	for _, name := range []string{
		"src/a.go", "src/[x].go", "src/gone.txt", "src/local/kept.txt", "built/kept.txt", "src/deep/er/b.go",
		"clean/a.go",
	} {
		write(name, name)
	}
	gitIn(t, top, "add", "--all", "--force")
	gitIn(t, top, "commit", "-q", "-m", "one")
	require.NoError(t, os.Remove(filepath.Join(top, "src", "gone.txt")))
	for _, name := range []string{
		"src/new.go", "src/junit.log", "src/loud.log", "src/private.txt", "src/gen/x", "src/gen/y/z",
		"src/gen/keep.txt", "src/local/other.txt", "src/logs/x.log", "src/module/.git",
		"src/module/m.go", "src/.env", "built/other.txt",
		"clean/.env", "clean/dist/x.log",
	} {
		write(name, name)
	}
	require.NoError(t, os.Mkdir(filepath.Join(top, "src", "empty"), 0o755))
	require.NoError(t, os.Symlink("a.go", filepath.Join(top, "src", "link")))
	listed := func(dir string, args ...string) (files []string) {
		out := gitIn(t, filepath.Join(top, dir), append([]string{"ls-files", "-z"}, args...)...)
		for name := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
			if name != "gone.txt" && name != ".env" && name != "module/m.go" && name != "module/" {
				files = append(files, name)
			}
		}
		slices.Sort(files)
		return slices.Compact(files)
	}

	src := workspace.Source{Dir: filepath.Join(top, "src"), Git: workspace.Unignored}
	files, left, tmpl := copied(t, src)
	require.Equal(t, listed("src", "-co", "--exclude-standard"), files)
	ignored, own := "ignored by git", "git repository of its own"
	require.Equal(t, map[string]string{
		"junit.log": ignored, "private.txt": ignored, "gen/x": ignored, "gen/y": ignored, "local/other.txt": ignored,
		"logs/x.log": ignored, "module": own, ".env": "looks like a secret by its name",
	}, left)
	rules, asked := tmpl.OfGit()
	require.True(t, asked)
	require.Equal(t, []string{filepath.Join(top, ".git", "info", "exclude"), filepath.Join(top, ".gitignore")}, rules)

	asks := src
	asks.Include = []string{"**", "*.log", "gen/**", "local", "module/*"}
	more, left, _ := copied(t, asks)
	require.Equal(t, map[string]string{
		"private.txt": ignored, "logs/x.log": ignored, ".env": "looks like a secret by its name",
		"module/.git": "file .git that points to another directory",
	}, left)
	for _, name := range []string{"junit.log", "gen/x", "gen/y/z", "local/kept.txt", "local/other.txt", "module/m.go"} {
		require.Contains(t, more, name)
	}

	tracked := src
	tracked.Git = workspace.Tracked
	files, left, _ = copied(t, tracked)
	require.Equal(t, listed("src", "--cached"), files)
	require.Equal(t, "not tracked by git", left["new.go"])
	require.Equal(t, "not tracked by git", left["gen"])

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(top, link))
	src.Dir = filepath.Join(link, "built")
	files, left, _ = copied(t, src)
	require.Equal(t, []string{"kept.txt"}, files, "the directory itself is ignored")
	require.Equal(t, map[string]string{"other.txt": ignored}, left)
	require.NoError(t, os.Symlink("src/gen", filepath.Join(top, "inner")))
	src.Dir = filepath.Join(top, "inner")
	files, _, _ = copied(t, src)
	require.Equal(t, []string{"keep.txt"}, files)

	work := filepath.Join(t.TempDir(), "linked")
	gitIn(t, top, "worktree", "add", "-q", "--detach", work)
	require.NoError(t, os.WriteFile(filepath.Join(work, "src", "private.txt"), nil, 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(work, "src", "new.txt"), nil, 0o644))
	src.Dir = filepath.Join(work, "src")
	files, left, _ = copied(t, src)
	require.Contains(t, files, "new.txt")
	require.Equal(t, map[string]string{"private.txt": ignored}, left)

	none := workspace.Source{Dir: t.TempDir(), Git: workspace.Unignored}
	for _, name := range []string{".gitignore", "x.log"} {
		require.NoError(t, os.WriteFile(filepath.Join(none.Dir, name), []byte("*.log\n"), 0o644))
	}
	files, _, _ = copied(t, none)
	require.Equal(t, []string{".gitignore", "x.log"}, files, "there is no repository")
	none.Git = workspace.Tracked
	_, err := workspace.Load(t.Context(), none)
	require.ErrorAs(t, err, new(*workspace.GitError))
	require.ErrorContains(t, err, "is in no git repository")

	// Git is not asked where nothing is ignored that would be copied otherwise.
	t.Setenv("PATH", t.TempDir())
	src.Dir = filepath.Join(top, "clean")
	files, _, tmpl = copied(t, src)
	require.Equal(t, []string{"a.go"}, files)
	_, asked = tmpl.OfGit()
	require.False(t, asked)
	src.Dir = filepath.Join(top, "src")
	_, err = workspace.Load(t.Context(), src)
	require.ErrorAs(t, err, new(*workspace.GitError))
	require.ErrorContains(t, err, "whether git tracks gen/x: ")
	require.ErrorContains(t, err, "install git")
}

//go:build unix

package worktree

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/git"
)

// TestMain lets this binary be the other processes of the tests, which work on the repository in their directory.
func TestMain(m *testing.M) {
	if len(os.Args) == 2 && processes[os.Args[1]] != nil {
		dir, err := os.Getwd()
		if err == nil {
			err = processes[os.Args[1]](dir)
		}
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var processes = map[string]func(dir string) error{
	// hold keeps a worktree until the process is killed.
	"hold": func(dir string) error {
		tree, err := Add(context.Background(), dir, "HEAD")
		if err != nil {
			return err
		}
		fmt.Println(tree.Dir)
		select {}
	},
	// come-and-go has several, one after the other.
	"come-and-go": comeAndGo,
}

func comeAndGo(dir string) error {
	for range 3 {
		tree, err := Add(context.Background(), dir, "HEAD")
		if err != nil {
			return err
		}
		if _, err := os.Stat(filepath.Join(tree.Dir, "stock.txt")); err != nil {
			return err
		}
		if err := tree.Remove(); err != nil {
			return err
		}
	}
	return nil
}

// newRepository makes a repository of two commits, the first with the tag "old", and has temporary files in a directory
// of the test.
func newRepository(t *testing.T) string {
	t.Helper()
	t.Setenv("TMPDIR", t.TempDir())
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	run(t, dir, "init", "--quiet")
	for _, stock := range []string{"tea 3\n", "tea 2\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "stock.txt"), []byte(stock), 0o644))
		run(t, dir, "add", "--all")
		run(t, dir, "-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message=stock")
	}
	run(t, dir, "tag", "old", "HEAD~")
	return dir
}

// run runs git, and nothing that the repository's configuration names.
func run(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"},
		args...)...)
	cmd.Dir = dir
	cmd.Env = git.Environ()
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// noneLeft makes sure that nothing is left of worktrees.
func noneLeft(t *testing.T, repository string) {
	t.Helper()
	require.Equal(t, 1, strings.Count(run(t, repository, "worktree", "list"), "\n"), "the repository knows of none")
	left, err := filepath.Glob(filepath.Join(os.TempDir(), "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestAdd(t *testing.T) {
	dir := newRepository(t)
	ran := filepath.Join(t.TempDir(), "ran")
	hook := "#!/bin/sh\ntouch " + ran + "\n"
	require.NoError(t, os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, ".git", "hooks", "post-checkout"), []byte(hook), 0o755))
	run(t, dir, "config", "core.fsmonitor", "touch "+ran+"; false")
	home := t.TempDir() // of a user with settings that would tell
	require.NoError(t, os.WriteFile(filepath.Join(home, ".gitconfig"),
		[]byte("[core]\n\tautocrlf = true\n\thooksPath = "+filepath.Join(dir, ".git", "hooks")+"\n"), 0o644))
	t.Setenv("HOME", home)
	t.Setenv("GIT_DIR", "/nowhere") // as in a hook
	t.Setenv("GIT_INDEX_FILE", "/nowhere")
	before := run(t, dir, "status", "--porcelain", "--branch")

	below := filepath.Join(dir, "below")
	require.NoError(t, os.Mkdir(below, 0o755))
	tree, err := Add(t.Context(), below, "old")
	require.NoError(t, err)
	stock, err := os.ReadFile(filepath.Join(tree.Dir, "stock.txt"))
	require.NoError(t, err)
	require.Equal(t, "tea 3\n", string(stock))
	require.Contains(t, run(t, tree.Dir, "status"), "Not currently on any branch")
	require.False(t, strings.HasPrefix(tree.Dir, dir), "it is outside the repository")
	require.NoFileExists(t, ran)

	// What is checked out there is another commit than in the repository: HEAD is the worktree's.
	inner, err := Add(t.Context(), tree.Dir, "HEAD")
	require.NoError(t, err)
	stock, err = os.ReadFile(filepath.Join(inner.Dir, "stock.txt"))
	require.NoError(t, err)
	require.Equal(t, "tea 3\n", string(stock))

	// Whatever was done in it: files that resist, and locks.
	require.NoError(t, os.Mkdir(filepath.Join(tree.Dir, "cache"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(tree.Dir, "cache", "x"), nil, 0o444))
	require.NoError(t, os.Chmod(filepath.Join(tree.Dir, "cache"), 0o555))
	run(t, dir, "worktree", "lock", tree.Dir)
	require.NoError(t, tree.Remove())
	require.FileExists(t, filepath.Join(inner.Dir, "stock.txt"), "others stay")
	require.NoError(t, inner.Remove())
	noneLeft(t, dir)
	require.Equal(t, before, run(t, dir, "status", "--porcelain", "--branch"))
}

func TestAddFails(t *testing.T) {
	dir := newRepository(t)
	shallow, empty := t.TempDir(), t.TempDir()
	run(t, shallow, "clone", "--quiet", "--depth=1", "file://"+dir, ".")
	run(t, empty, "init", "--quiet")
	tests := []struct {
		name, dir, ref string
		path           string // PATH, if not ours
		want           []string
	}{
		{name: "no-git", dir: dir, ref: "HEAD", path: "/nowhere", want: []string{"install git"}},
		{
			name: "no-repository", dir: os.TempDir(), ref: "HEAD",
			want: []string{os.TempDir() + " is not in a git repository", "not a git repository"},
		},
		{
			name: "unknown-ref", dir: dir, ref: "no-such-branch",
			want: []string{`"no-such-branch" names no commit of the repository of ` + dir},
		},
		{name: "no-commit", dir: dir, ref: "HEAD:stock.txt", want: []string{"names no commit"}},
		{name: "option", dir: dir, ref: "--all", want: []string{`"--all" names no commit`}},
		{name: "nothing", dir: dir, ref: "", want: []string{`"" names no commit`}},
		{name: "no-commit-yet", dir: empty, ref: "HEAD", want: []string{`"HEAD" names no commit`}},
		{name: "shallow", dir: shallow, ref: "HEAD~", want: []string{"a shallow clone", "git fetch --unshallow"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.path != "" {
				t.Setenv("PATH", tt.path)
			}
			_, err := Add(t.Context(), tt.dir, tt.ref)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
			if tt.name != "shallow" {
				require.NotContains(t, err.Error(), "shallow")
			}
		})
	}
	noneLeft(t, dir)
	tree, err := Add(t.Context(), shallow, "HEAD")
	require.NoError(t, err, "what a shallow clone has can be had")
	require.NoError(t, tree.Remove())
}

// TestKilled: worktrees of a process that was killed are removed, and those of one that lives are not.
func TestKilled(t *testing.T) {
	dir := newRepository(t)
	killed, killedDir := hold(t, dir)
	_, livesIn := hold(t, dir)
	require.NoError(t, killed.Process.Kill())
	require.Error(t, killed.Wait())
	require.DirExists(t, killedDir)
	mine, err := Add(t.Context(), dir, "HEAD")
	require.NoError(t, err)
	require.NoDirExists(t, filepath.Dir(killedDir))
	require.FileExists(t, filepath.Join(livesIn, "stock.txt"))
	require.Equal(t, 3, strings.Count(run(t, dir, "worktree", "list"), "\n"),
		"the repository, the one that lives, and ours")

	// Git forgets a worktree whose directory was removed.
	require.NoError(t, os.RemoveAll(mine.base))
	another, err := Add(t.Context(), dir, "HEAD")
	require.NoError(t, err)
	require.Equal(t, 3, strings.Count(run(t, dir, "worktree", "list"), "\n"))
	require.NoError(t, another.Remove())
}

// hold starts a process that keeps a worktree.
func hold(t *testing.T, repository string) (cmd *exec.Cmd, dir string) {
	t.Helper()
	cmd = other(t, repository, "hold")
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err)
	return cmd, strings.TrimSpace(line)
}

// other is this binary as another process.
func other(t *testing.T, repository, process string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self, process)
	cmd.Dir = repository
	return cmd
}

// TestAtOnce: processes, and tests in them, come and go in one repository.
func TestAtOnce(t *testing.T) {
	dir := newRepository(t)
	var group sync.WaitGroup
	for range 2 {
		cmd := other(t, dir, "come-and-go")
		group.Go(func() {
			out, err := cmd.CombinedOutput()
			assert.NoError(t, err, "%s", out)
		})
	}
	for range 3 {
		group.Go(func() { assert.NoError(t, comeAndGo(dir)) })
	}
	group.Wait()
	noneLeft(t, dir)
}

// TestListBusy puts a git into PATH that once meets a worktree that another process removes.
func TestListBusy(t *testing.T) {
	dir := newRepository(t)
	real, err := exec.LookPath("git")
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), []byte(`#!/bin/sh
case "$*" in
*"worktree list"*)
	if [ ! -e "$0.met" ]; then
		echo >"$0.met"
		echo "fatal: Invalid path '/x/.git/worktrees/worktree-7': No such file or directory" >&2
		exit 128
	fi
esac
exec "`+real+`" "$@"
`), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	_, err = Add(t.Context(), dir, "HEAD")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(bin, "git.met"))
}

// TestBusy puts a git into PATH that fails twice because the repository is busy, and leaves half a worktree each time.
func TestBusy(t *testing.T) {
	dir := newRepository(t)
	real, err := exec.LookPath("git")
	require.NoError(t, err)
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "git"), []byte(`#!/bin/sh
case "$*" in
*"worktree add"*)
	echo >>"$0.attempts"
	if [ "$(wc -l <"$0.attempts")" -lt 3 ]; then
		"`+real+`" "$@"
		echo "fatal: Unable to create '/x/.git/config.lock': File exists." >&2
		exit 128
	fi
esac
exec "`+real+`" "$@"
`), 0o755))
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	tree, err := Add(t.Context(), dir, "HEAD")
	require.NoError(t, err)
	require.FileExists(t, filepath.Join(tree.Dir, "stock.txt"))
	attempts, err := os.ReadFile(filepath.Join(bin, "git.attempts"))
	require.NoError(t, err)
	require.Len(t, attempts, 3)
	require.NoError(t, tree.Remove())
	noneLeft(t, dir)
}

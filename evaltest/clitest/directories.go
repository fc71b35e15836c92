package clitest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/testrun"
	"github.com/sdd-eval/sdd-eval/internal/worktree"
)

// outputs has the output directory of each test that has called [OutputDir].
var outputs struct {
	sync.Mutex
	dirs map[testing.TB]string
}

// OutputDir returns a directory for files that people may want to see after the test,
// test-output/<run>/<package>/<test> below the module's root. Calls in one test return the same directory. Each test,
// run and worktree has its own. It is not removed, and git ignores it.
//
// The environment variable TEST_RUN_ID is the name of the run: up to 64 letters, digits, _ and -. Any other value fails
// the test. If it is not set, each test process makes up a name. If a directory with that name exists, because a test
// was repeated or TEST_RUN_ID was used before, the new one gets a number: -2 and so on.
func OutputDir(t testing.TB) string {
	t.Helper()
	outputs.Lock()
	defer outputs.Unlock()
	if dir := outputs.dirs[t]; dir != "" {
		return dir
	}
	dir, err := makeOutput(t.Name())
	if err != nil {
		door.Of(t).Fatalf("clitest.OutputDir: %v", err)
	}
	if outputs.dirs == nil {
		outputs.dirs = make(map[testing.TB]string)
	}
	outputs.dirs[t] = dir
	t.Cleanup(func() {
		outputs.Lock()
		defer outputs.Unlock()
		delete(outputs.dirs, t)
	})
	return dir
}

func makeOutput(test string) (string, error) {
	id, err := testrun.ID(os.Getenv)
	if err != nil {
		return "", err
	}
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	return newOutput(dir, id, test)
}

// outputDir is the directory for output, below the module's root.
const outputDir = "test-output"

// maxName is the largest length of a directory's name that is made from a test's name, in bytes.
const maxName = 120

// unusual matches characters that are replaced in the names of tests, which may contain anything.
var unusual = lazyregexp.New(`[^A-Za-z0-9_.=+-]+`)

// newOutput makes a new directory for the output of a test whose package is in dir, <module root>/test-output/<run
// id>/<package's directory>/<test's name>, and returns its path. If the directory exists, the new one gets a number: -2
// and so on. No two calls return the same directory, not even in different processes. Git ignores test-output.
func newOutput(dir, runID, test string) (string, error) {
	root, err := project.ModuleRoot(dir)
	if err != nil {
		return "", err
	}
	pkg, err := filepath.Rel(root, dir)
	if err != nil {
		return "", err
	}
	if err := project.MakeIgnored(disk.Tree(root), filepath.Join(root, outputDir)); err != nil {
		return "", err
	}
	parent := filepath.Join(root, outputDir, runID, pkg)
	if err := disk.Tree(root).MkdirAll(parent); err != nil {
		return "", err
	}
	name := unusual.ReplaceAllString(strings.ReplaceAll(test, "/", "."), "_")
	path := filepath.Join(parent, name[:min(len(name), maxName)])
	for wanted, n := path, 2; ; n++ {
		err := disk.Tree(root).Mkdir(path, 0o755)
		if !errors.Is(err, fs.ErrExist) {
			return path, err
		}
		path = fmt.Sprintf("%s-%d", wanted, n)
	}
}

// Worktree checks out ref, any name of a commit in the test's own repository, in a new git worktree outside the
// repository and returns the worktree's directory. HEAD is detached, uncommitted changes are missing, and submodules
// are empty. The worktree is removed with all its files when the test ends. If a test process is killed, the next call
// in the repository removes its worktrees.
//
// Tests and processes may use the same repository at the same time. The repository's hooks do not run, and the user's
// settings have no effect: with Git LFS, files are pointers unless the repository's own configuration names the filter.
//
// Without git, without a repository, or if ref names no commit, the test fails and ends. The result of a test with a
// worktree never comes from go test's cache.
func Worktree(t testing.TB, ref string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		door.Of(t).Fatalf("clitest.Worktree: %v", err)
	}
	root, err := project.ModuleRoot(dir)
	if err != nil {
		door.Of(t).Fatalf("clitest.Worktree: %v", err)
	}
	if err := project.KeepOutOfCache(root); err != nil {
		door.Of(t).Fatalf("clitest.Worktree: %v", err)
	}
	tree, err := worktree.Add(t.Context(), dir, ref)
	if err != nil {
		door.Of(t).Fatalf("clitest.Worktree: %v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		if err := tree.Remove(); err != nil {
			door.Of(t).Errorf("clitest.Worktree: remove %s: %v", tree.Dir, err)
		}
	})
	return tree.Dir
}

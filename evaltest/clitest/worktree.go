package clitest

import (
	"os"
	"testing"

	"github.com/sdd-eval/sdd-eval/internal/project"
	"github.com/sdd-eval/sdd-eval/internal/worktree"
)

// Worktree checks out ref, any name that git has for a commit, from the test's own repository, and returns the
// directory: a new git worktree outside the repository, with HEAD detached. Uncommitted changes are not in it, and
// submodules are empty. It is removed with everything in it when the test ends, failed or not; the next call in the
// repository removes worktrees of test processes that were killed.
//
// Tests and processes that use the same repository at the same time do not interfere. The repository's hooks do not
// run, and the user's settings are ignored: with Git LFS, files are pointers unless the repository's own configuration
// names the filter.
//
// Without git, without a repository, or if ref names no commit, the test fails and ends. The result of a test with a
// worktree never comes from go test's cache.
func Worktree(t testing.TB, ref string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("clitest.Worktree: %v", err)
	}
	root, err := project.ModuleRoot(dir)
	if err != nil {
		t.Fatalf("clitest.Worktree: %v", err)
	}
	if err := project.KeepOutOfCache(root); err != nil {
		t.Fatalf("clitest.Worktree: %v", err)
	}
	tree, err := worktree.Add(t.Context(), dir, ref)
	if err != nil {
		t.Fatalf("clitest.Worktree: %v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		if err := tree.Remove(); err != nil {
			t.Errorf("clitest.Worktree: remove %s: %v", tree.Dir, err)
		}
	})
	return tree.Dir
}

package evaltest

import (
	"os"
	"testing"

	"github.com/sdd-eval/sdd-eval/internal/testrun"
	"github.com/sdd-eval/sdd-eval/internal/worktree"
)

// Worktree checks out ref, which is whatever names a commit in git, of the repository that the test is in, and returns the
// directory: a git worktree of its own outside the repository, with HEAD detached. What is not committed is not there,
// and submodules are empty. It is removed when the test ends, failed or not, with all that is in it; worktrees of test
// processes that were killed are removed by the next call in the repository.
//
// Tests and processes that do the same in the same repository at the same time do not interfere. Hooks of the repository do
// not run, and settings of the user do not count: with Git LFS, there are pointers unless the repository's own
// configuration names the filter.
//
// Without git, without a repository, or if ref names no commit, the test fails and ends. A test with a worktree is never
// served from go test's cache.
func Worktree(t testing.TB, ref string) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatalf("evaltest.Worktree: %v", err)
	}
	root, err := testrun.ModuleRoot(dir)
	if err != nil {
		t.Fatalf("evaltest.Worktree: %v", err)
	}
	if err := testrun.KeepOutOfCache(root); err != nil {
		t.Fatalf("evaltest.Worktree: %v", err)
	}
	tree, err := worktree.Add(t.Context(), dir, ref)
	if err != nil {
		t.Fatalf("evaltest.Worktree: %v", err)
	}
	t.Cleanup(func() {
		t.Helper()
		if err := tree.Remove(); err != nil {
			t.Errorf("evaltest.Worktree: remove %s: %v", tree.Dir, err)
		}
	})
	return tree.Dir
}

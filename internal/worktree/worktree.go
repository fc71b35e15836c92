// Package worktree checks out commits of a repository in temporary git worktrees and removes them. It never changes the
// repository's branches or its own working tree.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/git"
)

const (
	// prefix begins the name of the directory that has a worktree.
	prefix = "sdd-eval-worktree-"
	// ownerFile is the name of a file beside the worktree. The process that owns the worktree holds a lock on it.
	ownerFile = "owner"
)

// Tree is a worktree. This process owns it until [Tree.Remove] or its end.
type Tree struct {
	// Dir is the directory of its files, without symbolic links.
	Dir string

	repository string // git's own directory, which all worktrees of the repository share
	base       string // the directory of Dir
	owner      *os.File
}

// Add checks out a commit of the repository of dir in a new temporary directory. Ref is anything that names a commit.
// HEAD is detached there, and submodules are empty.
//
// Hooks of the repository do not run. The settings of the user, and the variables that git sets for hooks, have no
// effect. Several processes may do this in one repository at the same time. Add removes the worktrees of processes that
// were killed.
func Add(ctx context.Context, dir, ref string) (*Tree, error) {
	repository, _, err := git.Find(ctx, dir)
	if err != nil {
		return nil, err
	}
	commit, err := git.Commit(ctx, dir, ref)
	if err != nil {
		return nil, err
	}
	if err := removeStale(ctx, repository); err != nil {
		return nil, err
	}
	t, err := newTree(repository)
	if err != nil {
		return nil, fmt.Errorf("make a directory for the worktree: %w", err)
	}
	// Remove what a failed attempt has left, since it would be in the way of the next one.
	again := func() { _ = t.drop(ctx) }
	_, err = retried(ctx, repository, again, "worktree", "add", "--detach", "--quiet", t.Dir, commit)
	if err != nil {
		return nil, errors.Join(err, t.Remove())
	}
	return t, nil
}

// newTree makes the directory for a worktree, which is added later, and becomes its owner.
func newTree(repository string) (*Tree, error) {
	base, err := os.MkdirTemp("", prefix)
	if err != nil {
		return nil, err
	}
	t := &Tree{repository: repository, base: base}
	if err := t.own(); err != nil {
		return nil, errors.Join(err, disk.RemoveAll(base))
	}
	return t, nil
}

func (t *Tree) own() (err error) {
	if t.base, err = filepath.EvalSymlinks(t.base); err != nil {
		return err
	}
	// Git uses the last element as the name of the worktree, so it must be unique.
	t.Dir = filepath.Join(t.base, "worktree-"+strings.TrimPrefix(filepath.Base(t.base), prefix))
	if t.owner, err = os.OpenFile(filepath.Join(t.base, ownerFile),
		os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	if err := disk.Lock(t.owner); err != nil {
		return errors.Join(err, t.owner.Close())
	}
	return nil
}

// Remove removes the worktree with all its files.
func (t *Tree) Remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), git.Timeout)
	defer cancel()
	// Unlock last: other processes must not find it without an owner before git has forgotten it.
	err := t.drop(ctx)
	return errors.Join(err, disk.Unlock(t.owner), t.owner.Close(), disk.RemoveAll(t.base))
}

// drop removes the files and makes git forget the worktree if it knows it.
func (t *Tree) drop(ctx context.Context) error {
	if err := disk.RemoveAll(t.Dir); err != nil {
		return err
	}
	_, err := retried(ctx, t.repository, nil, "worktree", "remove", "--force", "--force", t.Dir)
	if failed, ok := errors.AsType[*git.Error](err); ok && strings.Contains(failed.Text, "is not a working tree") {
		return nil
	}
	return err
}

// removeStale removes the worktrees of processes that were killed.
func removeStale(ctx context.Context, repository string) error {
	list, err := retried(ctx, repository, nil, "worktree", "list", "--porcelain")
	if err != nil {
		return err
	}
	for line := range strings.Lines(list) {
		dir, ok := strings.CutPrefix(strings.TrimSpace(line), "worktree ")
		if base := filepath.Dir(filepath.FromSlash(dir)); ok && strings.HasPrefix(filepath.Base(base), prefix) {
			// A worktree that cannot be removed, such as another user's, does no harm.
			_ = removeOrphan(ctx, &Tree{Dir: filepath.FromSlash(dir), base: base, repository: repository})
		}
	}
	return nil
}

// removeOrphan removes a worktree unless a process owns it.
func removeOrphan(ctx context.Context, t *Tree) (err error) {
	t.owner, err = os.OpenFile(filepath.Join(t.base, ownerFile), os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return errors.Join(t.drop(ctx), disk.RemoveAll(t.base))
	}
	if err != nil {
		return err
	}
	if err := disk.Lock(t.owner); err != nil {
		return errors.Join(err, t.owner.Close())
	}
	return t.Remove()
}

const (
	patience   = 30 * time.Second // how long to wait for other processes that use the repository
	firstPause = 20 * time.Millisecond
)

// busy matches git's errors when another process uses the repository: about locks, and about directories of worktrees
// that are being made or removed.
var busy = regexp.MustCompile(`(?i)\.lock'|could not lock|file exists|another git process|` +
	`failed to read .*worktrees/|(invalid path|cannot (open|read)) .*worktrees/`)

// retried runs git, again and again while another process uses the repository, for as long as patience. It calls again,
// unless that is nil, before each further attempt.
func retried(ctx context.Context, dir string, again func(), args ...string) (string, error) {
	end := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, time.Second) {
		text, err := git.Output(ctx, dir, args...)
		failed, ok := errors.AsType[*git.Error](err)
		if !ok || !busy.MatchString(failed.Text) || time.Now().After(end) {
			return text, err
		}
		select {
		case <-ctx.Done():
			return "", errors.Join(err, context.Cause(ctx))
		case <-time.After(pause):
		}
		if again != nil {
			again()
		}
	}
}

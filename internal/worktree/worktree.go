package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

const (
	// prefix begins the name of the directory that has a worktree.
	prefix = "sdd-eval-worktree-"
	// ownerFile lies beside the worktree. The process that owns it holds a lock on this file.
	ownerFile = "owner"
)

// Tree is a worktree, and ours until [Tree.Remove] or until this process ends.
type Tree struct {
	// Dir is where its files are, without symbolic links.
	Dir string

	repository string // git's own directory, which all worktrees of the repository share
	base       string // Dir is in it
	owner      *os.File
}

// Add checks out a commit of the repository that dir is in, in a new directory below the one for temporary files. Ref is
// whatever names a commit. HEAD is detached there, and submodules are empty.
//
// Hooks of the repository do not run, and neither the settings of the user nor the variables that git has for its hooks
// count. Other processes may do the same in the same repository. What those left that were killed is removed.
func Add(ctx context.Context, dir, ref string) (*Tree, error) {
	repository, shallow, err := find(ctx, dir)
	if err != nil {
		return nil, err
	}
	commit, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", ref+"^{commit}")
	if _, ok := errors.AsType[*gitError](err); ok {
		return nil, unknown(dir, ref, shallow)
	}
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
	// What a failed attempt has left would be in the way of the next one.
	again := func() { _ = t.drop(ctx) }
	_, err = retried(ctx, repository, again, "worktree", "add", "--detach", "--quiet", t.Dir, strings.TrimSpace(commit))
	if err != nil {
		return nil, errors.Join(err, t.Remove())
	}
	return t, nil
}

// find returns git's directory of the repository that dir is in, and whether that is a shallow clone.
func find(ctx context.Context, dir string) (repository string, shallow bool, err error) {
	out, err := git(ctx, dir, "rev-parse", "--git-common-dir", "--is-shallow-repository")
	if failed, ok := errors.AsType[*gitError](err); ok {
		return "", false, fmt.Errorf("%s is in no git repository: %s", dir, strings.TrimSpace(failed.text))
	}
	if err != nil {
		return "", false, err
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 2 {
		return "", false, fmt.Errorf("git rev-parse in %s printed %q", dir, out)
	}
	repository = lines[0]
	if !filepath.IsAbs(repository) {
		repository = filepath.Join(dir, repository)
	}
	return repository, lines[1] == "true", nil
}

func unknown(dir, ref string, shallow bool) error {
	err := fmt.Errorf("%q names no commit of the repository of %s", ref, dir)
	if shallow {
		err = fmt.Errorf("%w, which is a shallow clone and may lack it: fetch more of it, "+
			"with `git fetch --unshallow`, or fetch-depth: 0 of actions/checkout", err)
	}
	return err
}

// newTree makes the directory of a worktree, which does not exist yet, and takes possession of it.
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
	// Git names what it keeps of a worktree by the last element.
	t.Dir = filepath.Join(t.base, "worktree-"+strings.TrimPrefix(filepath.Base(t.base), prefix))
	if t.owner, err = os.OpenFile(filepath.Join(t.base, ownerFile), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	if err := disk.Lock(t.owner); err != nil {
		return errors.Join(err, t.owner.Close())
	}
	return nil
}

// Remove removes the worktree, with whatever is in it.
func (t *Tree) Remove() error {
	ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
	defer cancel()
	// Others find it without an owner only when git does not know it any more, or when this has failed.
	err := t.drop(ctx)
	return errors.Join(err, disk.Unlock(t.owner), t.owner.Close(), disk.RemoveAll(t.base))
}

// drop removes the files, and has git forget the worktree, if it knows of it.
func (t *Tree) drop(ctx context.Context) error {
	if err := disk.RemoveAll(t.Dir); err != nil {
		return err
	}
	_, err := retried(ctx, t.repository, nil, "worktree", "remove", "--force", "--force", t.Dir)
	if failed, ok := errors.AsType[*gitError](err); ok && strings.Contains(failed.text, "is not a working tree") {
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
			// One that cannot be removed, because it is another user's, say, is in nobody's way.
			_ = removeOrphan(ctx, &Tree{Dir: filepath.FromSlash(dir), base: base, repository: repository})
		}
	}
	return nil
}

// removeOrphan removes a worktree unless it is somebody's.
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

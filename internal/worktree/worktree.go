// Package worktree checks out commits of a repository in temporary git worktrees and removes them. It never changes the
// repository's branches or its own working tree.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
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
	// Remove what a failed attempt has left, since it would be in the way of the next one.
	again := func() { _ = t.drop(ctx) }
	_, err = retried(ctx, repository, again, "worktree", "add", "--detach", "--quiet", t.Dir, strings.TrimSpace(commit))
	if err != nil {
		return nil, errors.Join(err, t.Remove())
	}
	return t, nil
}

// find returns git's directory of the repository of dir, and whether the repository is a shallow clone.
func find(ctx context.Context, dir string) (repository string, shallow bool, err error) {
	out, err := git(ctx, dir, "rev-parse", "--git-common-dir", "--is-shallow-repository")
	if failed, ok := errors.AsType[*gitError](err); ok {
		return "", false, fmt.Errorf("%s is not in a git repository: %s", dir, strings.TrimSpace(failed.text))
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
		err = fmt.Errorf("%w, which is a shallow clone and may lack the commit: fetch its history "+
			"with `git fetch --unshallow`, or with fetch-depth: 0 of actions/checkout", err)
	}
	return err
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
	ctx, cancel := context.WithTimeout(context.Background(), gitTimeout)
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
	maxOutput  = 1 << 20 // bytes of what git prints
	gitTimeout = 5 * time.Minute
	patience   = 30 * time.Second // how long to wait for other processes that use the repository
	firstPause = 20 * time.Millisecond
)

// settings are passed to git each time. They keep it from running programs that the repository's configuration names,
// except filters, without which files would have other contents. So the repository's owner does not matter
// (safe.directory).
var settings = []string{
	"core.hooksPath=" + os.DevNull, "core.fsmonitor=false", "gc.auto=0", "maintenance.auto=false", "safe.directory=*",
}

// inherited are the variables of our environment that are passed to git. Those that git sets for its hooks, which name
// a repository, are not among them.
var inherited = []string{"PATH", "TMPDIR", "TEMP", "TMP", "SYSTEMROOT", "SYSTEMDRIVE", "COMSPEC", "PATHEXT", "WINDIR"}

// environment returns the environment of git: without settings of the user or the system, and without prompts.
func environment() []string {
	env := []string{
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_ATTR_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"HOME=" + os.DevNull, "XDG_CONFIG_HOME=" + os.DevNull, "LC_ALL=C",
	}
	for _, kv := range os.Environ() {
		name, _, _ := strings.Cut(kv, "=")
		if slices.Contains(inherited, strings.ToUpper(name)) {
			env = append(env, kv)
		}
	}
	return env
}

// gitError is a failure that git has reported.
type gitError struct {
	command string // such as "worktree add"
	exit    supervise.Exit
	text    string
}

func (e *gitError) Error() string {
	return fmt.Sprintf("git %s: %s: %s", e.command, e.exit, strings.TrimSpace(e.text))
}

// git runs git in dir and returns its output. If git fails, the error is a [*gitError].
func git(ctx context.Context, dir string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTimeout)
	defer cancel()
	all := []string{"git"}
	for _, s := range settings {
		all = append(all, "-c", s)
	}
	stdout, stderr := &excerpt.Tail{Limit: maxOutput}, &excerpt.Tail{Limit: maxOutput}
	p, err := supervise.Start(ctx, supervise.Command{
		Path: "git", Args: append(all, args...), Dir: dir, Env: environment(), Stdout: stdout, Stderr: stderr,
	})
	if errors.Is(err, exec.ErrNotFound) {
		return "", fmt.Errorf("%w: install git", err)
	}
	if err != nil {
		return "", err
	}
	exit, err := p.Wait()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	said, _ := stderr.Text(true)
	if exit != (supervise.Exit{}) {
		return "", &gitError{strings.Join(args[:min(2, len(args))], " "), exit, said}
	}
	text, truncated := stdout.Text(true)
	if truncated {
		return "", fmt.Errorf("git %s printed more than %d bytes", args[0], maxOutput)
	}
	return text, nil
}

// busy matches git's errors when another process uses the repository: about locks, and about directories of worktrees
// that are being made or removed.
var busy = regexp.MustCompile(`(?i)\.lock'|could not lock|file exists|another git process|` +
	`failed to read .*worktrees/|cannot (open|read) .*worktrees/`)

// retried runs git, again and again while another process uses the repository, for as long as patience. It calls again,
// unless that is nil, before each further attempt.
func retried(ctx context.Context, dir string, again func(), args ...string) (string, error) {
	end := time.Now().Add(patience)
	for pause := firstPause; ; pause = min(2*pause, time.Second) {
		text, err := git(ctx, dir, args...)
		failed, ok := errors.AsType[*gitError](err)
		if !ok || !busy.MatchString(failed.text) || time.Now().After(end) {
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

package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/git"
)

// Git says which files of a directory in a git repository are copied.
type Git string

const (
	// All copies what is copied of directories in no repository.
	All Git = ""
	// Unignored leaves out what git ignores by rules of the repository and does not track, as
	// `git ls-files -co --exclude-standard` does. The user's own rules (core.excludesFile) do not count.
	Unignored Git = "unignored"
	// Tracked leaves out what is not in the repository's index. What is copied is what is on disk.
	Tracked Git = "tracked"
)

// GitError says that git could not be asked what it tracks.
type GitError struct {
	Path string // in the source
	Err  error
}

func (e *GitError) Error() string { return fmt.Sprintf("whether git tracks %s: %v", e.Path, e.Err) }
func (e *GitError) Unwrap() error { return e.Err }

// repository tells which paths of a source are left out for being in a git repository.
type repository struct {
	ctx   context.Context
	which Git
	top   string // the directory of its work tree
	dir   string // the source's path below it
	above within // what holds for the source
	read  []string
	index map[string]bool // nil: git was not asked
}

// within is what holds for all that is in a directory of a source.
type within struct {
	partial bool    // only what an include pattern covers is copied
	ignored bool    // by git, which may track parts of it
	ignore  *ignore // further rules
}

// openRepository returns nil if the directory of a source is in no repository.
func openRepository(ctx context.Context, src Source) (*repository, error) {
	dir, top, err := topOf(src.Dir)
	if err != nil {
		return nil, err
	}
	if top == "" && src.Git == Tracked {
		return nil, &GitError{".", fmt.Errorf("%s is in no git repository", src.Dir)}
	}
	if top == "" {
		return nil, nil
	}
	rel, err := filepath.Rel(top, dir)
	r := &repository{ctx: ctx, which: src.Git, top: top, dir: filepath.ToSlash(rel)}
	if err == nil && src.Git == Unignored {
		err = r.readAbove()
	}
	return r, err
}

// topOf returns a directory without links on the way to the top of its repository, and that, empty: there is none.
func topOf(dir string) (real, top string, err error) {
	top = git.Top(dir)
	for d := dir; d != top; d = filepath.Dir(d) {
		if _, err := os.Readlink(d); err == nil {
			real, err = filepath.EvalSymlinks(dir)
			return real, git.Top(real), err
		}
		if d == filepath.Dir(d) {
			break
		}
	}
	return dir, top, nil
}

// readAbove reads the rules of the repository that stand above the source.
func (r *repository) readAbove() error {
	if err := r.readRules(git.Exclude(r.top), "."); err != nil || r.dir == "." {
		return err
	}
	at := "."
	for name := range strings.SplitSeq(r.dir, "/") {
		if err := r.readRules(filepath.Join(r.top, filepath.FromSlash(at), ignoreFile), at); err != nil {
			return err
		}
		at = join(at, name)
		if r.above.ignore.matches(at, true) {
			r.above.ignored = true // and no rule below can change that
			break
		}
	}
	return nil
}

// readRules adds those of a file, if there is one, for what is in dir.
func (r *repository) readRules(file, dir string) error {
	text, err := disk.ReadRegular(file, maxIgnoreFile)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, disk.ErrNotRegular) {
		return nil // git does not read it either
	}
	if err != nil {
		return err
	}
	if rules := parseIgnore(string(text)); len(rules) > 0 {
		r.above.ignore = &ignore{above: r.above.ignore, dir: dir, rules: rules}
		r.read = append(r.read, file)
	}
	return nil
}

// enter returns what holds in a directory of a source that has these entries, or why the directory is left out.
func (r *repository) enter(t *planner, dir string, list []fs.DirEntry, in within) (_ within, hidden string, err error) {
	for _, d := range list {
		switch {
		case in.partial:
		case d.Name() == ".git" && dir != ".":
			in.partial, hidden = true, "git repository of its own"
		case d.Name() == ignoreFile && d.Type().IsRegular() && r.which == Unignored && !in.ignored:
			if in.ignore, err = t.source.readIgnore(dir, in.ignore); err != nil {
				return in, "", err
			}
			in.ignore.dir = path.Join(r.dir, dir)
		}
	}
	return in, hidden, nil
}

// hides returns why p of a source, in a directory in which that holds, is left out; empty: it is not. Ignored: it is
// not although git ignores it, since parts of it are tracked.
func (r *repository) hides(p string, isDir bool, in within) (reason string, ignored bool, err error) {
	full := join(r.dir, p)
	if r.which == Unignored && !in.ignored && !in.ignore.matches(full, isDir) {
		return "", false, nil
	}
	if r.index == nil {
		if r.index, err = git.Tracked(r.ctx, r.top, r.dir); err != nil {
			return "", false, &GitError{p, err}
		}
	}
	switch {
	case r.index[full]:
		return "", r.which == Unignored, nil
	case r.which == Tracked:
		return "not tracked by git", false, nil
	}
	return "ignored by git", false, nil
}

// OfGit returns what of the repository decided what the template copies: the files above its directory that have rules
// by which git ignores paths, and whether git was asked what it tracks.
func (t *Template) OfGit() (rules []string, asked bool) {
	if t.repository == nil {
		return nil, false
	}
	return t.repository.read, t.repository.index != nil
}

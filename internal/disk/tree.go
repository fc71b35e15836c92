package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/fault"
)

// Tree is the path of a directory that is not ours, such as the user's module, in which we work. What its methods
// change is below it, for all links that anybody has put there: a symbolic link may lead to another place in the tree,
// and one that leads out of it is a [*LinkError]. That holds for links that appear meanwhile, too. The paths that the
// methods take begin with that of the tree.
type Tree string

// Within returns the tree in which we work on what is in dir: root if dir is below it by its name, else dir, which
// somebody must have named.
func Within(root, dir string) Tree {
	if rel, err := filepath.Rel(root, dir); err == nil && filepath.IsLocal(rel) {
		return Tree(root)
	}
	return Tree(dir)
}

// Shown returns a path as people read it: if it is below a directory by its name, relative to that, with slashes.
func Shown(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && filepath.IsLocal(rel) {
		return filepath.ToSlash(rel)
	}
	return path
}

// LinkError means that a symbolic link in a tree leads out of it.
type LinkError struct {
	Link   string // its path
	Target string // what is written in it
	Tree   Tree
}

func (e *LinkError) Error() string {
	return fmt.Sprintf("%s is a symbolic link to %q, which is outside %s: such links are not followed",
		e.Link, e.Target, string(e.Tree))
}

// Check returns a [*LinkError] if a link on the path, or at its end, leads out of the tree. It is for what is only read
// then: links that appear after it has looked are followed. The go command does not take notice of Check.
func (t Tree) Check(path string) error {
	_, err := t.resolve(path, true)
	return err
}

// maxLinks is how many links a path may have, more than systems follow.
const maxLinks = 255

// resolve returns the path below the tree, without links. A link at its end is only followed with last.
func (t Tree) resolve(path string, last bool) (string, error) {
	rel, err := filepath.Rel(string(t), path)
	if err != nil || !filepath.IsLocal(rel) {
		return "", fmt.Errorf("%s is not below %s", path, string(t))
	}
	var via LinkError // the link that was followed last
	done, links := ".", 0
	for rest := elements(rel); len(rest) > 0; {
		at := filepath.Join(done, rest[0])
		if at == done { // an empty element; the tree itself may be a link
			rest = rest[1:]
			continue
		}
		if !filepath.IsLocal(at) {
			return "", fault.Advise(&via, "remove the link "+via.Link+", or put what it leads to in its place")
		}
		rest = rest[1:]
		// The go command does not take notice of Readlink: a result of a test may come from its cache whatever happens
		// to the directories.
		target, err := os.Readlink(filepath.Join(string(t), at))
		if err != nil || len(rest) == 0 && !last { // it is no link, or is not there
			done = at
			continue
		}
		if links++; links > maxLinks {
			return "", &fs.PathError{Op: "follow", Path: path, Err: errors.New("too many symbolic links")}
		}
		via = LinkError{Link: filepath.Join(string(t), at), Target: target, Tree: t}
		if done = filepath.Dir(at); filepath.IsAbs(target) {
			done = "."
			var below bool
			if target, below = Locate(string(t)).Below(target); !below {
				target = ".."
			}
		}
		rest = slices.Concat(elements(target), rest)
	}
	return done, nil
}

// elements splits a path.
func elements(path string) []string { return strings.Split(filepath.ToSlash(path), "/") }

// Follow returns the path without the links on it and at its end, as [Tree.Check] finds them. There need not be
// anything at the path.
func (t Tree) Follow(path string) (string, error) {
	rel, err := t.resolve(path, true)
	if err != nil {
		return "", err
	}
	return filepath.Join(string(t), rel), nil
}

// ReadRegular is [ReadRegular] for what is in a tree, as [Tree.Check] finds it.
func (t Tree) ReadRegular(path string, limit int64) ([]byte, error) {
	if err := t.Check(path); err != nil {
		return nil, err
	}
	return ReadRegular(path, limit)
}

// do calls f with the tree, and the names in it of paths, whose last elements are not followed. A tree that somebody
// named need not be there.
func (t Tree) do(f func(root *os.Root, names []string) error, paths ...string) (err error) {
	names := make([]string, len(paths))
	for i, path := range paths {
		if names[i], err = t.resolve(path, false); err != nil {
			return err
		}
	}
	root, err := os.OpenRoot(string(t))
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(string(t), 0o755); err == nil {
			root, err = os.OpenRoot(string(t))
		}
	}
	if err != nil {
		return err
	}
	defer root.Close()
	err = f(root, names)
	if e, ok := errors.AsType[*fs.PathError](err); ok && !filepath.IsAbs(e.Path) {
		e.Path = filepath.Join(string(t), e.Path)
	}
	return err
}

// MkdirAll makes a directory, and those above it that are missing.
func (t Tree) MkdirAll(path string) error {
	path, err := t.Follow(path)
	if err != nil {
		return err
	}
	err = t.do(func(root *os.Root, names []string) error { return root.MkdirAll(names[0], 0o755) }, path)
	if errors.Is(err, fs.ErrExist) {
		err = &fs.PathError{Op: "mkdir", Path: path, Err: errors.New("not a directory")}
	}
	return err
}

// Mkdir makes a directory. If there is something, the error wraps [fs.ErrExist].
func (t Tree) Mkdir(path string, perm fs.FileMode) error {
	return t.do(func(root *os.Root, names []string) error { return root.Mkdir(names[0], perm) }, path)
}

// Replace writes a file as [Replace] does, and makes missing directories.
func (t Tree) Replace(path string, data []byte, perm fs.FileMode) error {
	return t.write(path, data, perm, place.Rename)
}

// Create is like [Tree.Replace], but returns [fs.ErrExist] if there is something at path. Of several concurrent calls
// one succeeds. The file system must support hard links.
func (t Tree) Create(path string, data []byte, perm fs.FileMode) error {
	return t.write(path, data, perm, func(in place, temporary, name string) error {
		if err := in.Link(temporary, name); err != nil {
			return err
		}
		return in.Remove(temporary)
	})
}

func (t Tree) write(path string, data []byte, perm fs.FileMode, put putter) error {
	return t.do(func(root *os.Root, names []string) error {
		if err := root.MkdirAll(filepath.Dir(names[0]), 0o755); err != nil {
			return err
		}
		return writeSynced(root, names[0], data, perm, put)
	}, path)
}

// OpenFile opens a file as [os.OpenFile] does, without waiting at a FIFO.
func (t Tree) OpenFile(path string, flag int, perm fs.FileMode) (f *os.File, err error) {
	if path, err = t.Follow(path); err != nil {
		return nil, err
	}
	err = t.do(func(root *os.Root, names []string) (err error) {
		f, err = root.OpenFile(names[0], flag|Nonblock, perm)
		return err
	}, path)
	return f, err
}

// Rename renames what is at old, which may be a link.
func (t Tree) Rename(old, path string) error {
	return t.do(func(root *os.Root, names []string) error { return root.Rename(names[0], names[1]) }, old, path)
}

// Remove removes a file, a link, or an empty directory.
func (t Tree) Remove(path string) error {
	return t.do(func(root *os.Root, names []string) error { return root.Remove(names[0]) }, path)
}

// RemoveAll is [RemoveAll] for what is in a tree.
func (t Tree) RemoveAll(path string) error {
	return t.do(func(root *os.Root, names []string) error { return RemoveAllIn(root, names[0]) }, path)
}

// Sync syncs a directory to the disk, which makes renames in it durable. On Windows it does nothing.
func (t Tree) Sync(dir string) error {
	return t.do(func(root *os.Root, names []string) error { return syncDir(root, names[0]) }, dir)
}

// Chtimes sets the times of the file at path.
func (t Tree) Chtimes(path string, at time.Time) error {
	return t.do(func(root *os.Root, names []string) error { return root.Chtimes(names[0], at, at) }, path)
}

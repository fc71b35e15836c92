package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/git"
)

// maxCommitted is how many bytes the copied files of a commit may have, which are held in memory.
const maxCommitted = 512 << 20

// commit is what a commit has in a directory.
type commit struct {
	ctx   context.Context
	top   string // of the repository's work tree
	files map[string]git.Entry
	dirs  map[string][]fs.DirEntry
	links map[string]string // where they point
}

// openCommit lists what a commit has at dir, which need not exist.
func openCommit(ctx context.Context, dir, id string) (*commit, error) {
	c := &commit{
		ctx: ctx, top: git.Top(dir), files: make(map[string]git.Entry), links: make(map[string]string),
		dirs: map[string][]fs.DirEntry{".": nil},
	}
	rel, err := filepath.Rel(c.top, dir)
	if err != nil || c.top == "" {
		return nil, fmt.Errorf("%s is in no git repository", dir)
	}
	entries, err := git.List(ctx, c.top, id, filepath.ToSlash(rel))
	if err != nil {
		return nil, err
	}
	var links []git.Entry
	for _, e := range entries {
		if _, twice := c.files[e.Path]; twice || c.dirs[e.Path] != nil {
			return nil, fmt.Errorf("the commit %s has %q twice", id, e.Path)
		}
		c.files[e.Path] = e
		if e.Kind == git.Link && e.Size <= maxPath {
			links = append(links, e)
		}
		c.add(e.Path, kindsOf[e.Kind])
	}
	for dir := range c.dirs {
		if _, twice := c.files[dir]; twice {
			return nil, fmt.Errorf("the commit %s has %q twice", id, dir)
		}
		slices.SortFunc(c.dirs[dir], func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	}
	err = git.Read(ctx, c.top, links, func(e git.Entry, data []byte) error {
		c.links[e.Path] = string(data)
		return nil
	})
	return c, err
}

// kindsOf has what entries of a commit are in a workspace; a submodule is nothing there.
var kindsOf = map[git.Kind]Kind{git.File: File, git.Program: File, git.Link: Symlink}

// add adds an entry to its directory, and that to those above it.
func (c *commit) add(p string, kind Kind) {
	dir := path.Dir(p)
	_, known := c.dirs[dir]
	c.dirs[dir] = append(c.dirs[dir], info{Entry{Path: p, Kind: kind}})
	if !known {
		c.add(dir, Dir)
	}
}

func (c *commit) list(dir string) ([]fs.DirEntry, error) { return c.dirs[dir], c.ctx.Err() }

func (c *commit) readlink(p string) (string, error) { return c.links[p], nil }

// lfs begins a file that Git LFS keeps elsewhere.
var lfs = []byte("version https://git-lfs.github.com/spec/")

// loadCommit reads the files that are copied.
func (t *Template) loadCommit(ctx context.Context) error {
	entries, at, total := make([]git.Entry, len(t.files)), make(map[string]int, len(t.files)), int64(0)
	for i, f := range t.files {
		entries[i], at[f.Path] = t.committed.files[f.Path], i
		total += entries[i].Size
	}
	if total > maxCommitted {
		return fmt.Errorf("what is copied of the commit has %s, and at most %s are: choose a directory, or leave "+
			"files out", size(total), size(maxCommitted))
	}
	err := git.Read(ctx, t.committed.top, entries, func(e git.Entry, data []byte) error {
		f := &t.files[at[e.Path]]
		if f.skipped = t.refuses(e.Path, data[:min(len(data), chunk)]); f.skipped != "" {
			return nil
		}
		if bytes.HasPrefix(data, lfs) {
			t.notes = append(t.notes, Note{e.Path, "content that Git LFS keeps elsewhere: its pointer is copied"})
		}
		f.Entry = Entry{
			Path: e.Path, Kind: File, Exec: e.Kind == git.Program, Size: int64(len(data)), Digest: digest(data),
		}
		f.data, f.held = data, true
		return nil
	})
	t.loaded, t.inMemory = true, true
	if t.src.Hide != nil {
		t.prune()
	}
	return err
}

// committedFiles returns the files of a list by their paths; nil: they are not of a commit.
func committedFiles(ctx context.Context, head listHead, entries []Entry) (map[string][]byte, error) {
	if head.Commit == "" {
		return nil, nil
	}
	c, err := openCommit(ctx, head.Dir, head.Commit)
	if err != nil {
		return nil, err
	}
	var wanted []git.Entry
	digests, total := make(map[string]string), int64(0)
	for _, e := range entries {
		if e.Kind == File {
			wanted = append(wanted, c.files[e.Path])
			digests[e.Path], total = e.Digest, total+e.Size
		}
		if f := c.files[e.Path]; e.Kind == File && (kindsOf[f.Kind] != File || f.Size != e.Size) {
			return nil, fmt.Errorf("%s is not what it was in the commit", e.Path)
		}
	}
	if total > maxCommitted {
		return nil, errors.New("its files are too large")
	}
	files := make(map[string][]byte, len(wanted))
	err = git.Read(ctx, c.top, wanted, func(e git.Entry, data []byte) error {
		if digest(data) != digests[e.Path] {
			return fmt.Errorf("%s is not what it was in the commit", e.Path)
		}
		files[e.Path] = data
		return nil
	})
	return files, err
}

package workspace

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

const (
	// maxEntries is how many files, directories and links one tree may have.
	maxEntries = 1_000_000
	// maxPath is the largest length of a path in bytes.
	maxPath = 4096
	// maxBytes is how many bytes the files of one tree may have that are read. Holes count: reading them takes time.
	maxBytes = 8 << 30
	// chunk is how many bytes of a file are in memory at a time, unless its content is kept.
	chunk = 256 << 10
)

// tree reads the entries of a directory tree. It is for one goroutine; others use its [tree.beside].
type tree struct {
	ctx     context.Context
	root    *os.Root
	entries int
	bytes   *atomic.Int64 // of the files that were read
	scratch []byte
	// here is the directory in, of which the last file was opened: from there the next one is found at once.
	here *os.Root
	in   string
}

func openTree(ctx context.Context, dir string) (*tree, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &tree{ctx: ctx, root: root, bytes: new(atomic.Int64)}, nil
}

// beside returns the tree for another goroutine, which calls leave in the end.
func (t *tree) beside() *tree { return &tree{ctx: t.ctx, root: t.root, bytes: t.bytes} }

func (t *tree) close() {
	t.leave()
	_ = t.root.Close()
}

// enter returns the directory in which a file is.
func (t *tree) enter(dir string) (*os.Root, error) {
	switch {
	case dir == ".":
		return t.root, nil
	case t.here != nil && t.in == dir:
		return t.here, nil
	}
	t.leave()
	// With a dot at its end the path does not open what is no directory, which may wait.
	here, err := t.root.OpenRoot(dir + "/.")
	if err == nil {
		t.here, t.in = here, dir
	}
	return here, err
}

// leave closes the directory of the last file.
func (t *tree) leave() {
	if t.here != nil {
		_ = t.here.Close()
	}
	t.here = nil
}

// list returns the entries of dir, sorted by name.
func (t *tree) list(dir string) ([]fs.DirEntry, error) {
	if err := t.ctx.Err(); err != nil {
		return nil, err
	}
	entries, err := disk.List(t.root, dir, -1)
	if err != nil {
		return nil, err
	}
	t.entries += len(entries)
	if t.entries > maxEntries {
		return nil, fmt.Errorf("%s: more than %d files", t.root.Name(), maxEntries)
	}
	if len(dir) > maxPath {
		return nil, fmt.Errorf("%s...: path longer than %d bytes", dir[:64], maxPath)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

func (t *tree) readlink(p string) (string, error) { return t.root.Readlink(p) }

// join is path.Join for a clean directory, which may be ".", and a name.
func join(dir, name string) string {
	if dir == "." {
		return name
	}
	return dir + "/" + name
}

// opened is an open regular file whose first bytes have been read.
type opened struct {
	*os.File
	path string
	info fs.FileInfo
	head []byte // valid until the tree opens another file
}

func (o opened) exec() bool { return executable(o.info) }

// executable reports whether the owner of a file may execute it.
func executable(info fs.FileInfo) bool { return info.Mode()&0o100 != 0 }

// open opens the regular file at p and reads its first chunk, which is often all of it. For other kinds the error is
// errNotRegular.
func (t *tree) open(p string) (o opened, err error) {
	if err := t.ctx.Err(); err != nil {
		return opened{}, err
	}
	in, err := t.enter(path.Dir(p))
	if err != nil {
		return opened{}, err
	}
	f, err := in.OpenFile(path.Base(p), os.O_RDONLY|disk.Nonblock, 0)
	if err != nil { // a link there may lead out of its directory
		f, err = t.root.OpenFile(p, os.O_RDONLY|disk.Nonblock, 0)
	}
	if err != nil {
		return opened{}, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return opened{}, err
	}
	if !info.Mode().IsRegular() {
		return opened{}, errNotRegular
	}
	if want := int(min(info.Size()+1, chunk)); len(t.scratch) < want {
		t.scratch = make([]byte, want)
	}
	n, err := f.Read(t.scratch)
	if err != nil && err != io.EOF {
		return opened{}, err
	}
	return opened{File: f, path: p, info: info, head: t.scratch[:n]}, nil
}

// count adds the size of a file to that of the tree.
func (t *tree) count(p string, n int64) error {
	if t.bytes.Add(n) > maxBytes {
		return fmt.Errorf("%s has %s: all files together have more than %s, which are not compared or copied",
			excerpt.Name(p, maxShown), size(n), size(maxBytes))
	}
	return nil
}

// entry reads the rest of o, writes all of o to w and returns its entry. If the file grows meanwhile, the error is an
// unstableError.
func (t *tree) entry(o opened, w io.Writer) (Entry, error) {
	if err := t.count(o.path, o.info.Size()); err != nil {
		return Entry{}, err
	}
	e := Entry{Path: o.path, Kind: File, Exec: o.exec()}
	if int64(len(o.head)) == o.info.Size() {
		e.Size, e.Digest = o.info.Size(), digest(o.head)
		_, err := w.Write(o.head)
		return e, err
	}
	h := sha256.New()
	for part := o.head; len(part) > 0; {
		if err := t.ctx.Err(); err != nil {
			return Entry{}, err
		}
		_, _ = h.Write(part)
		if _, err := w.Write(part); err != nil {
			return Entry{}, err
		}
		if e.Size += int64(len(part)); e.Size > o.info.Size() {
			return Entry{}, &unstableError{Path: o.path}
		}
		n, err := o.Read(t.scratch)
		if err != nil && err != io.EOF {
			return Entry{}, err
		}
		part = t.scratch[:n]
	}
	e.Digest = hexSum(h)
	return e, nil
}

// leadsInside reports whether a symbolic link at p stays below the workspace. Its upward steps must come first and be
// few enough, so that no other link on the way can turn a later step into an escape.
func leadsInside(p, target string) bool {
	if target == "" || path.IsAbs(target) || strings.ContainsAny(target, "\\\x00") || !utf8.ValidString(target) {
		return false
	}
	depth, down := strings.Count(p, "/"), false
	for segment := range strings.SplitSeq(target, "/") {
		switch {
		case segment == "" || segment == ".":
		case segment != "..":
			down = true
		case down || depth == 0:
			return false
		default:
			depth--
		}
	}
	return true
}

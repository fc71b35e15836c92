package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
)

// maxDepth is how many directories may be within each other in a tree that is copied: each is open meanwhile.
const maxDepth = 500

// Move moves a directory with all that is in it to the path to, at which there is nothing or an empty directory. Where
// it cannot be renamed, as between file systems, it is copied as by [Copy] and removed. After an error a part may be at
// to, and from may be left.
func Move(ctx context.Context, from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.Rename(from, to) == nil {
		return nil
	}
	err := Copy(ctx, from, to)
	return errors.Join(err, RemoveAll(from))
}

// Copy copies a directory with all that is in it to the path to, at which there is nothing. Files, directories and
// links are copied with their modes and times, files with their holes; whatever else there is is left out. What its
// owner may not read is made readable first. Nothing else may be at work in from. After an error, which may be that of
// the context, a part may be at to.
func Copy(ctx context.Context, from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	if perm := info.Mode().Perm(); perm&0o700 != 0o700 {
		if err := os.Chmod(from, perm|0o700); err != nil {
			return err
		}
	}
	in, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenRoot(to)
	if err != nil {
		return err
	}
	defer out.Close()
	err = copyTree(ctx, in, out, 0)
	return errors.Join(err, os.Chmod(to, info.Mode().Perm()))
}

// copyTree copies what is in a directory, depth directories below the first, in which nothing else is at work.
func copyTree(ctx context.Context, from, to *os.Root, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("more than %d directories are within each other: they cannot be copied", maxDepth)
	}
	entries, err := List(from, ".", -1)
	for _, e := range entries {
		if ctx.Err() != nil {
			return errors.Join(err, context.Cause(ctx))
		}
		err = errors.Join(err, copyEntry(ctx, e, from, to, depth))
	}
	return err
}

func copyEntry(ctx context.Context, e fs.DirEntry, from, to *os.Root, depth int) error {
	switch {
	case e.IsDir():
		return copyDir(ctx, e.Name(), from, to, depth)
	case e.Type()&fs.ModeSymlink != 0:
		target, err := from.Readlink(e.Name())
		if err != nil {
			return err
		}
		return to.Symlink(target, e.Name())
	case e.Type().IsRegular():
		return copyFile(ctx, e.Name(), from, to)
	}
	return nil
}

func copyDir(ctx context.Context, name string, from, to *os.Root, depth int) error {
	info, err := reach(from, name, 0o700)
	if err != nil {
		return err
	}
	if err := to.Mkdir(name, 0o700); err != nil {
		return err
	}
	in, err := from.OpenRoot(name)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenRoot(name)
	if err != nil {
		return err
	}
	defer out.Close()
	err = copyTree(ctx, in, out, depth+1)
	return errors.Join(err, to.Chmod(name, info.Mode().Perm()))
}

// reach gives the owner of a file or directory at least these rights, and returns what it was before.
func reach(root *os.Root, name string, rights fs.FileMode) (fs.FileInfo, error) {
	info, err := root.Lstat(name)
	if err == nil && info.Mode()&rights != rights {
		err = root.Chmod(name, info.Mode().Perm()|rights)
	}
	return info, err
}

func copyFile(ctx context.Context, name string, from, to *os.Root) (err error) {
	info, err := reach(from, name, 0o400)
	if err != nil {
		return err
	}
	in, err := from.OpenFile(name, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|Nonblock, 0o600)
	if err != nil {
		return err
	}
	err = copyData(ctx, in, out, info.Size())
	err = errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close())
	if err != nil {
		return err
	}
	return to.Chtimes(name, info.ModTime(), info.ModTime())
}

// copyData copies a file of a size with its holes.
func copyData(ctx context.Context, in, out *os.File, size int64) error {
	for end := int64(0); ; {
		start, next, err := NextData(in, end)
		if errors.Is(err, io.EOF) {
			return out.Truncate(size)
		}
		if err == nil {
			_, err = out.Seek(start, io.SeekStart)
		}
		if err == nil {
			_, err = io.Copy(out, &cancellable{ctx, io.NewSectionReader(in, start, min(next, size)-start)})
		}
		if err != nil {
			return err
		}
		if end = next; end >= size {
			return out.Truncate(size)
		}
	}
}

// rest is all of a file from an offset on, for [NextData].
func rest(f *os.File, from int64) (start, end int64, err error) {
	info, err := f.Stat()
	if err == nil && from >= info.Size() {
		err = io.EOF
	}
	return from, math.MaxInt64, err
}

// cancellable is a reader that ends with a context.
type cancellable struct {
	ctx context.Context
	r   io.Reader
}

func (c *cancellable) Read(p []byte) (int, error) {
	if c.ctx.Err() != nil {
		return 0, context.Cause(c.ctx)
	}
	return c.r.Read(p)
}

package workspace

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"syscall"
	"time"
)

// Files are those of a workspace, to be read. Links are followed as [os.Root] follows them: not out of the workspace.
type Files interface {
	fs.StatFS
	fs.ReadFileFS
	fs.ReadLinkFS
}

// OnDisk is the files of a workspace that is a directory, at this path.
type OnDisk string

var (
	_ Files = OnDisk("")
	_ Files = new(Overlay)
)

// in calls f with the directory's files.
func in[T any](d OnDisk, f func(Files) (T, error)) (T, error) {
	root, err := os.OpenRoot(string(d))
	if err != nil {
		var none T
		return none, fmt.Errorf("open the workspace: %v", err) // not of the path in it
	}
	defer root.Close()
	return f(root.FS().(Files)) // as its documentation says
}

// Open opens a file. That of a pipe may wait: see by Stat what it is.
func (d OnDisk) Open(name string) (fs.File, error) {
	return in(d, func(f Files) (fs.File, error) { return f.Open(name) })
}

// ReadFile reads a file.
func (d OnDisk) ReadFile(name string) ([]byte, error) {
	return in(d, func(f Files) ([]byte, error) { return f.ReadFile(name) })
}

// ReadLink returns where a link leads.
func (d OnDisk) ReadLink(name string) (string, error) {
	return in(d, func(f Files) (string, error) { return f.ReadLink(name) })
}

// Stat tells what is at a path, or where a link there leads.
func (d OnDisk) Stat(name string) (fs.FileInfo, error) {
	return in(d, func(f Files) (fs.FileInfo, error) { return f.Stat(name) })
}

// Lstat tells what is at a path.
func (d OnDisk) Lstat(name string) (fs.FileInfo, error) {
	return in(d, func(f Files) (fs.FileInfo, error) { return f.Lstat(name) })
}

// Open opens a file or a directory.
func (o *Overlay) Open(name string) (fs.File, error) {
	e, err := o.resolve(name, true)
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return &openEntry{overlay: o, info: info{e}}, nil
}

// ReadFile reads a file.
func (o *Overlay) ReadFile(name string) ([]byte, error) {
	e, err := o.resolve(name, true)
	if err == nil && e.Kind != File {
		err = errNotRegular
	}
	var data []byte
	if err == nil {
		data, err = o.content(e)
	}
	if err != nil {
		return nil, &fs.PathError{Op: "read", Path: name, Err: err}
	}
	return bytes.Clone(data), nil
}

// ReadLink returns where a link leads.
func (o *Overlay) ReadLink(name string) (string, error) {
	e, err := o.resolve(name, false)
	if err == nil && e.Kind != Symlink {
		err = fs.ErrInvalid
	}
	if err != nil {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: err}
	}
	return e.Target, nil
}

// Stat tells what is at a path, or where a link there leads.
func (o *Overlay) Stat(name string) (fs.FileInfo, error) { return o.stat(name, true) }

// Lstat tells what is at a path.
func (o *Overlay) Lstat(name string) (fs.FileInfo, error) { return o.stat(name, false) }

func (o *Overlay) stat(name string, follow bool) (fs.FileInfo, error) {
	e, err := o.resolve(name, follow)
	if err != nil {
		return nil, &fs.PathError{Op: "statat", Path: name, Err: err}
	}
	return info{e}, nil
}

// info describes an entry that is nowhere on disk.
type info struct{ e Entry }

func (i info) Name() string               { return path.Base(i.e.Path) }
func (i info) Size() int64                { return i.e.Size }
func (i info) ModTime() time.Time         { return time.Time{} }
func (i info) IsDir() bool                { return i.e.Kind == Dir }
func (i info) Sys() any                   { return nil }
func (i info) Type() fs.FileMode          { return i.Mode().Type() }
func (i info) Info() (fs.FileInfo, error) { return i, nil }

func (i info) Mode() fs.FileMode {
	switch i.e.Kind {
	case Dir:
		return fs.ModeDir | 0o755
	case Symlink:
		return fs.ModeSymlink | 0o777
	}
	return perm(i.e.Exec)
}

// openEntry is an open file or directory of an overlay.
type openEntry struct {
	overlay *Overlay
	info    info
	content *bytes.Reader // nil: not read yet
	entries []fs.DirEntry // that ReadDir returns
	listed  bool
}

func (f *openEntry) Stat() (fs.FileInfo, error) { return f.info, nil }
func (f *openEntry) Close() error               { return nil }

func (f *openEntry) Read(p []byte) (int, error) {
	if f.content == nil {
		data, err := f.overlay.ReadFile(f.info.e.Path)
		if err != nil {
			return 0, err
		}
		f.content = bytes.NewReader(data)
	}
	return f.content.Read(p)
}

// ReadDir implements [fs.ReadDirFile].
func (f *openEntry) ReadDir(n int) ([]fs.DirEntry, error) {
	dir := f.info.e.Path
	if !f.info.IsDir() {
		return nil, &fs.PathError{Op: "readdir", Path: dir, Err: syscall.ENOTDIR}
	}
	if !f.listed {
		for _, e := range f.overlay.below(dir) {
			if path.Dir(e.Path) == dir {
				f.entries = append(f.entries, info{e})
			}
		}
		f.listed = true
	}
	if n <= 0 {
		n = len(f.entries)
	} else if len(f.entries) == 0 {
		return nil, io.EOF
	}
	n = min(n, len(f.entries))
	entries := f.entries[:n]
	f.entries = f.entries[n:]
	return entries, nil
}

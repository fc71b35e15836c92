// Package disk writes files whole, reads regular files up to a limit, moves, copies and removes trees whatever their
// modes, and locks files. It knows nothing about what files contain: masking secrets belongs in package secret.
package disk

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Replace writes data to the file at path, replacing any file there, with exactly the mode perm. After a crash or a
// concurrent write the file has one content or the other, never a part. When Replace returns, the file is on the disk.
// Files of the user's module are written through a [Tree].
func Replace(path string, data []byte, perm fs.FileMode) error {
	return writeSynced(anywhere{}, path, data, perm, place.Rename)
}

// Put is like [Replace], with the data that fill writes, but does not wait for the disk. It is for files that can be
// made again: however the process ends, the file is whole or does not exist, but a crash of the system may leave an
// empty one.
func Put(path string, perm fs.FileMode, fill func(io.Writer) error) error {
	return write(anywhere{}, path, perm, func(f *os.File) error { return fill(f) }, place.Rename)
}

// place is where files are written. An [*os.Root] is one.
type place interface {
	Stat(name string) (fs.FileInfo, error)
	Open(name string) (*os.File, error)
	OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error)
	Rename(from, to string) error
	Link(from, to string) error
	Remove(name string) error
}

// anywhere is the place of all paths.
type anywhere struct{}

func (anywhere) Stat(name string) (fs.FileInfo, error) { return os.Stat(name) }
func (anywhere) Open(name string) (*os.File, error)    { return os.Open(name) }
func (anywhere) Rename(from, to string) error          { return os.Rename(from, to) }
func (anywhere) Link(from, to string) error            { return os.Link(from, to) }
func (anywhere) Remove(name string) error              { return os.Remove(name) }

func (anywhere) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(name, flag, perm)
}

// putter moves a temporary file to where it belongs.
type putter func(in place, temporary, name string) error

// writeSynced writes data to a temporary file, syncs it to the disk, and has put move it to name.
func writeSynced(in place, name string, data []byte, perm fs.FileMode, put putter) error {
	err := write(in, name, perm, func(f *os.File) error {
		_, err := f.Write(data)
		return errors.Join(err, f.Sync())
	}, put)
	if err != nil {
		return err
	}
	return syncDir(in, filepath.Dir(name))
}

// write has fill write a temporary file, and has put move it to name.
func write(in place, name string, perm fs.FileMode, fill func(*os.File) error, put putter) error {
	temporary := filepath.Join(filepath.Dir(name), "."+filepath.Base(name)+"."+rand.Text()[:8])
	f, err := in.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL|Nonblock, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(fill(f), f.Chmod(perm), f.Close())
	if err == nil {
		err = put(in, temporary, name)
	}
	if err != nil {
		return errors.Join(err, in.Remove(temporary))
	}
	return nil
}

// syncDir syncs a directory to the disk, which makes renames in it durable. On Windows it does nothing.
func syncDir(in place, dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := in.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// MkdirTemp makes a new directory below parent or, if that is empty, below the system's directory for temporary files.
// It returns the path without links, as programs in the directory report it. The directory's name does not tell an
// agent who made it, or for what.
func MkdirTemp(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "w")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	return dir, err
}

// ErrNotRegular is the error, within a [*fs.PathError], for a directory, a FIFO or a device where a file is expected.
var ErrNotRegular = errors.New("not a regular file")

// OpenRegular opens the regular file at path for reading. It follows symbolic links. It does not block on a FIFO, and
// does not open devices, since that may have effects.
func OpenRegular(path string) (*os.File, error) { return openRegular(anywhere{}, path) }

// OpenRegularIn is [OpenRegular] for a file below root.
func OpenRegularIn(root *os.Root, name string) (*os.File, error) { return openRegular(root, name) }

func openRegular(in place, name string) (*os.File, error) {
	info, err := in.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := CheckRegular(name, info); err != nil {
		return nil, err
	}
	f, err := in.OpenFile(name, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, err
	}
	if info, err = f.Stat(); err == nil { // it may have been replaced before it was opened
		err = CheckRegular(f.Name(), info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// CheckRegular returns [ErrNotRegular], with the name, unless info is that of a regular file.
func CheckRegular(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	}
	return nil
}

// ReadRegular reads the regular file at path, see [OpenRegular]. If it has more than limit bytes, the error wraps a
// [*SizeError].
func ReadRegular(path string, limit int64) (data []byte, err error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = ReadAll(f, limit)
	if _, large := errors.AsType[*SizeError](err); large {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return data, err
}

// ReadAll reads the rest of a file. If the file has more than limit bytes, the error is a [*SizeError].
func ReadAll(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &SizeError{info.Size(), limit}
	}
	data := bytes.NewBuffer(make([]byte, 0, info.Size()+bytes.MinRead)) // so that it need not grow
	if _, err := data.ReadFrom(io.LimitReader(f, limit+1)); err != nil {
		return nil, err
	}
	if size := int64(data.Len()); size > limit { // the file has grown
		return nil, &SizeError{size, limit}
	}
	return data.Bytes(), nil
}

// SizeError means that a file is larger than it may be.
type SizeError struct {
	// Size is the size of the file, or more if it grows, and Limit is the largest size that is allowed. Both are in
	// bytes.
	Size, Limit int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("%d bytes exceed the limit of %d", e.Size, e.Limit)
}

// ErrLocked is the error of [Lock] for a file that is locked through another descriptor, of another process or ours.
var ErrLocked = errors.New("another process is using it")

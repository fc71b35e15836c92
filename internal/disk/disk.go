// Package disk does what the standard library leaves half done: it writes files whole, reads them up to a limit,
// removes trees that resist, and locks files.
package disk

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Replace puts data in the place of what is at path, with exactly that mode. A crash or a concurrent write leaves one or
// the other, and never a part. When it returns the file is on the disk.
func Replace(path string, data []byte, perm fs.FileMode) error {
	return place(path, data, perm, os.Rename)
}

// Create is [Replace] for a path where nothing may be: if something is there, the error is [fs.ErrExist]. Of several at the
// same time one succeeds. The file system needs to have hard links.
func Create(path string, data []byte, perm fs.FileMode) error {
	return place(path, data, perm, func(temporary, path string) error {
		if err := os.Link(temporary, path); err != nil {
			return err
		}
		return os.Remove(temporary)
	})
}

// place writes data to the disk under another name, and then puts it in its place.
func place(path string, data []byte, perm fs.FileMode, put func(temporary, path string) error) error {
	err := write(path, perm, func(f *os.File) error {
		_, err := f.Write(data)
		return errors.Join(err, f.Sync())
	}, put)
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Put is [Replace] for what can be made again, with the data that fill writes: it does not wait for the disk. Whatever
// ends the process, the file is whole or not there; only a crash of the system may leave an empty one.
func Put(path string, perm fs.FileMode, fill func(io.Writer) error) error {
	return write(path, perm, func(f *os.File) error { return fill(f) }, os.Rename)
}

// write has a file under another name filled, and then put in its place.
func write(path string, perm fs.FileMode, fill func(*os.File) error, put func(temporary, path string) error) error {
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()[:8])
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL|Nonblock, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(fill(f), f.Chmod(perm), f.Close())
	if err == nil {
		err = put(temporary, path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}

// SyncDir makes a rename in dir last. Windows has no means to.
func SyncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// MkdirTemp makes a new directory below parent, the system's directory for such if it is empty. It returns the path without
// links, which is what programs in it report.
func MkdirTemp(parent string) (string, error) {
	dir, err := os.MkdirTemp(parent, "sdd-eval-")
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	return dir, err
}

// RemoveAll is [os.RemoveAll] for trees with directories that may not be written to, such as go's module cache.
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	// What cannot be made writable is named by RemoveAll.
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if e != nil && e.IsDir() {
			_ = os.Chmod(path, 0o700)
		}
		return nil
	})
	return os.RemoveAll(dir)
}

// ErrNotRegular is the error, within a [*fs.PathError], about a directory, a FIFO or a device in the place of a file.
var ErrNotRegular = errors.New("not a regular file")

// OpenRegular opens the regular file at path, or the one that a symbolic link there leads to, for reading. It waits for
// nobody, and opens no device, which may do something.
func OpenRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := CheckRegular(path, info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, err
	}
	return stillRegular(f)
}

// OpenRegularIn is [OpenRegular] for a file below root.
func OpenRegularIn(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := CheckRegular(name, info); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, err
	}
	return stillRegular(f)
}

// stillRegular returns a file that may have been replaced before it was opened. It closes anything else.
func stillRegular(f *os.File) (*os.File, error) {
	info, err := f.Stat()
	if err == nil {
		err = CheckRegular(f.Name(), info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// CheckRegular returns an error, [ErrNotRegular], unless info is of a regular file. The error names it.
func CheckRegular(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	}
	return nil
}

// ReadRegular reads the file that [OpenRegular] opens. One with more than limit bytes is a [*SizeError], which is within an
// error that names the file.
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

// ReadAll reads what is left of a file. If that file has more than limit bytes, it is a [*SizeError].
func ReadAll(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &SizeError{info.Size(), limit}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if size := int64(len(data)); size > limit { // it has grown
		return nil, &SizeError{size, limit}
	}
	return data, nil
}

// SizeError is the error about a file that is larger than it may be.
type SizeError struct {
	// Size is how many bytes it has, at least, and Limit how many it may have.
	Size, Limit int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("it has %d bytes, more than the %d that it may have", e.Size, e.Limit)
}

// ErrLocked is the error of [Lock] for a file that is locked by another opening of it, be it another process's or ours.
var ErrLocked = errors.New("another process is using it")

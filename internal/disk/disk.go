// Package disk does what the standard library leaves half done: it writes files whole, reads them up to a limit,
// removes trees that resist, and locks files.
package disk

import (
	"crypto/rand"
	"errors"
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

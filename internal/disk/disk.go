// Package disk does what the standard library leaves half done: it replaces files whole, removes trees that resist, and locks
// files.
package disk

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"syscall"
)

// Replace puts data in the place of what is at path, with exactly that mode. A crash or a concurrent write leaves one or
// the other, and never a part. When it returns the file is on the disk.
func Replace(path string, data []byte, perm fs.FileMode) error {
	err := replace(path, perm, func(f *os.File) error {
		_, err := f.Write(data)
		return errors.Join(err, f.Sync())
	})
	if err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Put is [Replace] for what can be made again, with the data that write writes: it does not wait for the disk. Whatever
// ends the process, the file is whole or not there; only a crash of the system may leave an empty one.
func Put(path string, perm fs.FileMode, write func(io.Writer) error) error {
	return replace(path, perm, func(f *os.File) error { return write(f) })
}

// replace writes a file under another name and renames it.
func replace(path string, perm fs.FileMode, write func(*os.File) error) error {
	temporary := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+"."+rand.Text()[:8])
	// O_NONBLOCK means nothing for a file, but saves the package os four calls that look for it.
	f, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(write(f), f.Chmod(perm), f.Close())
	if err == nil {
		err = os.Rename(temporary, path)
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

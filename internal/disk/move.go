package disk

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Move moves a directory with all that is in it to the path to, at which there is nothing or an empty directory. Where
// it cannot be renamed, as between file systems, files, directories and links are copied with their modes and times,
// and whatever else there is gets lost. After an error a part may be at to, and from may be left.
func Move(from, to string) error {
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if os.Rename(from, to) == nil {
		return nil
	}
	err := copyTree(from, to)
	return errors.Join(err, RemoveAll(from))
}

// Copy copies a directory with all that is in it to the path to, at which there is nothing. Files, directories and
// links are copied with their modes and times, whatever else there is is left out. What its owner may not read is made
// readable first. Nothing else may be at work in from. After an error a part may be at to.
func Copy(from, to string) error { return copyTree(from, to) }

// copyTree copies the directory from, in which nothing else is at work.
func copyTree(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if err := os.Mkdir(to, 0o700); err != nil {
		return err
	}
	if info.Mode()&0o700 != 0o700 { // it goes in any case
		if err := os.Chmod(from, 0o700); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(from)
	for _, e := range entries {
		err = errors.Join(err, copyEntry(e, filepath.Join(from, e.Name()), filepath.Join(to, e.Name())))
	}
	return errors.Join(err, os.Chmod(to, info.Mode().Perm()))
}

func copyEntry(e fs.DirEntry, from, to string) error {
	switch {
	case e.IsDir():
		return copyTree(from, to)
	case e.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(from)
		if err != nil {
			return err
		}
		return os.Symlink(target, to)
	case e.Type().IsRegular():
		return copyFile(from, to)
	}
	return nil
}

func copyFile(from, to string) (err error) {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	if info.Mode()&0o400 == 0 {
		if err := os.Chmod(from, 0o600); err != nil {
			return err
		}
	}
	in, err := os.OpenFile(from, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL|Nonblock, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	err = errors.Join(err, out.Chmod(info.Mode().Perm()), out.Close())
	if err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

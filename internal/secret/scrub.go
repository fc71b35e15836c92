package secret

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// rewrite masks the content of a file.
func (w *sweep) rewrite(name string) error {
	from, info, err := w.open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	temp, err := w.free(filepath.Dir(name), ".scrub")
	if err != nil {
		return err
	}
	to, err := w.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	masked := w.set.Writer(to)
	_, err = io.Copy(masked, from)
	err = errors.Join(err, masked.Close(), to.Chmod(info.Mode().Perm()), to.Sync(), to.Close())
	if err == nil {
		err = w.root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, w.root.Remove(temp))
	}
	return nil
}

// relink masks the target of a link.
func (w *sweep) relink(name, target string) error {
	temp, err := w.free(filepath.Dir(name), ".scrub")
	if err != nil {
		return err
	}
	if err := w.root.Symlink(w.set.String(target), temp); err != nil {
		return err
	}
	if err := w.root.Rename(temp, name); err != nil {
		return errors.Join(err, w.root.Remove(temp))
	}
	return nil
}

// rename masks the name of an entry.
func (w *sweep) rename(name string) error {
	to, err := w.free(filepath.Dir(name), w.set.String(filepath.Base(name)))
	if err != nil {
		return err
	}
	return w.root.Rename(name, to)
}

// free returns a path in dir that nothing has, by that name or with a number added.
func (w *sweep) free(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	for n := 2; ; n++ {
		_, err := w.root.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, fmt.Sprintf("%s-%d", name, n))
	}
}

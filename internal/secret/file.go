package secret

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// WriteFile writes data, masked, in the place of what is at path, which survives a crash or a concurrent write as one or
// the other. The file has exactly that mode. Files named .json and .jsonl are masked by [Set.JSON].
func (s *Set) WriteFile(path string, data []byte, perm fs.FileMode) error {
	switch filepath.Ext(path) {
	case ".json", ".jsonl":
		data = s.JSON(data)
	default:
		data = s.Bytes(data)
	}
	if err := replaceFile(path, data, perm); err != nil {
		return fmt.Errorf("write %s: %w", s.String(path), bare(err))
	}
	return nil
}

func replaceFile(path string, data []byte, perm fs.FileMode) error {
	dir := filepath.Dir(path)
	f, err := os.CreateTemp(dir, "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(perm), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return syncDir(dir)
}

// syncDir makes a rename in dir last. Windows has no means to.
func syncDir(dir string) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// bare returns an error of the file system without its paths, which may hold a secret.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	return err
}

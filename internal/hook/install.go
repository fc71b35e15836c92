package hook

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// maxSettings is the largest file of settings that is read, in bytes.
const maxSettings = 16 << 20

// Edit changes the settings in a file by Merge, [Without] or another function of their kind, and reports whether that
// changed anything. A file that is not there is one without settings, and is made with the directory that it lies in, unless there is
// nothing to write. The file is replaced as a whole; a link to it stays one. With an error it is what it was.
func Edit(path string, change func(settings []byte) ([]byte, error)) (changed bool, err error) {
	path, err = target(path)
	if err != nil {
		return false, err
	}
	before, perm, err := readSettings(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return false, err
	}
	after, err := changeSettings(path, before, missing, change)
	if err != nil || bytes.Equal(before, after) {
		return false, err
	}
	if missing {
		perm = 0o644
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return false, err
		}
	}
	return true, disk.Replace(path, after, perm)
}

// Preview returns what [Edit] would write.
func Preview(path string, change func(settings []byte) ([]byte, error)) ([]byte, error) {
	path, err := target(path)
	if err != nil {
		return nil, err
	}
	before, _, err := readSettings(path)
	missing := errors.Is(err, fs.ErrNotExist)
	if err != nil && !missing {
		return nil, err
	}
	return changeSettings(path, before, missing, change)
}

func changeSettings(path string, before []byte, missing bool, change func([]byte) ([]byte, error)) ([]byte, error) {
	const none = "{}\n"
	if missing {
		before = []byte(none)
	}
	after, err := change(before)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if missing && string(after) == none {
		return nil, nil
	}
	return after, nil
}

// target follows links to the file that there is or is to be.
func target(path string) (string, error) {
	info, err := os.Lstat(path)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return path, nil // reading tells what is wrong
	}
	return filepath.EvalSymlinks(path)
}

func readSettings(path string) ([]byte, fs.FileMode, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, 0, err
	case !info.Mode().IsRegular():
		return nil, 0, fmt.Errorf("%s: this is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, maxSettings+1))
	if err == nil && len(data) > maxSettings {
		err = fmt.Errorf("%s: the file has more than %d bytes", path, maxSettings)
	}
	return data, info.Mode().Perm(), err
}

package hook

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// maxSettings is the largest file of settings that is read, in bytes.
const maxSettings = 16 << 20

// Edit changes the settings in a file, by [Merge] for example, and reports whether that changed anything. A file that is
// not there is one without settings; it is made, and so is its directory, if there is something to write. The file is
// replaced whole, and a link to it stays one. With an error it is what it was.
func Edit(path string, change func(settings []byte) ([]byte, error)) (changed bool, err error) {
	f, err := readSettings(path)
	if err != nil {
		return false, err
	}
	after, err := f.changed(change)
	if err != nil || bytes.Equal(f.text, after) {
		return false, err
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil {
		return false, err
	}
	return true, disk.Replace(f.path, after, f.perm)
}

// Preview returns what [Edit] would leave in the file.
func Preview(path string, change func(settings []byte) ([]byte, error)) ([]byte, error) {
	f, err := readSettings(path)
	if err != nil {
		return nil, err
	}
	return f.changed(change)
}

// settingsFile is a file of settings. A missing one has no text.
type settingsFile struct {
	path string // no link
	text []byte
	perm fs.FileMode
}

func readSettings(path string) (settingsFile, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&fs.ModeSymlink != 0 {
		if path, err = filepath.EvalSymlinks(path); err != nil {
			return settingsFile{}, err
		}
	}
	f, err := disk.OpenRegular(path)
	if errors.Is(err, fs.ErrNotExist) {
		return settingsFile{path: path, perm: 0o644}, nil
	}
	if err != nil {
		return settingsFile{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return settingsFile{}, err
	}
	text, err := disk.ReadAll(f, maxSettings)
	if err != nil {
		return settingsFile{}, fmt.Errorf("%s: %w", path, err)
	}
	if len(text) == 0 {
		return settingsFile{}, fmt.Errorf("%s: the file is empty, which is not JSON", path)
	}
	return settingsFile{path, text, info.Mode().Perm()}, nil
}

// changed returns the text after a change. Settings that would stay empty are still not there.
func (f settingsFile) changed(change func([]byte) ([]byte, error)) ([]byte, error) {
	const none = "{}\n"
	before := f.text
	if len(before) == 0 {
		before = []byte(none)
	}
	after, err := change(before)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", f.path, err)
	case len(f.text) == 0 && string(after) == none:
		return nil, nil
	}
	return after, nil
}

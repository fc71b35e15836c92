package testrun

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// ModuleRoot returns the nearest directory that has a go.mod, dir or one above it. Tests run in the directory of their
// package.
func ModuleRoot(dir string) (string, error) {
	for d := dir; ; d = filepath.Dir(d) {
		_, err := os.Stat(filepath.Join(d, "go.mod"))
		if err == nil {
			return d, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if filepath.Dir(d) == d {
			return "", fmt.Errorf("no go.mod in %s or above it", dir)
		}
	}
}

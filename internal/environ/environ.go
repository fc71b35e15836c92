// Package environ reads and builds environments: lists of "NAME=value", as [os.Environ] returns them, of which most are
// not that of this process. Which variables we read ourselves, such as EVALTEST_MODE, belongs where they are read.
package environ

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Get returns the value of a variable, the last if there are several, and empty if there is none.
func Get(environ []string, name string) string {
	for _, kv := range slices.Backward(environ) {
		if value, ok := strings.CutPrefix(kv, name+"="); ok {
			return value
		}
	}
	return ""
}

// LookPath returns the path of the program file in the directories of path, a list as in $PATH. The name must not
// contain a slash. Empty and relative directories in the list are skipped, because their meaning depends on who looks.
// The error wraps [exec.ErrNotFound] and names the list.
func LookPath(file, path string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if found, err := exec.LookPath(filepath.Join(dir, file)); err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("%q: %w (PATH=%s)", file, exec.ErrNotFound, path)
}

// Variables returns an environment by name. The last of several variables of a name counts.
func Variables(environ []string) map[string]string {
	m := make(map[string]string, len(environ))
	for _, kv := range environ {
		if name, value, ok := strings.Cut(kv, "="); ok && name != "" { // Windows has variables "=C:"
			m[name] = value
		}
	}
	return m
}

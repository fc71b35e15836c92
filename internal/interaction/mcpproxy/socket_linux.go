package mcpproxy

import (
	"fmt"
	"os"
	"path/filepath"
)

// shortName returns a name for a path that is short enough for a socket, until it is released: one through the open
// directory.
func shortName(path string) (name string, release func(), err error) {
	if len(path) <= maxPath {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { dir.Close() }, nil
}

//go:build !linux

package mcpproxy

import "fmt"

// shortName returns a name for a path that is short enough for a socket.
func shortName(path string) (name string, release func(), err error) {
	if len(path) > maxPath {
		return "", nil, fmt.Errorf("%s has %d bytes, and a socket's path no more than %d: set TMPDIR to a shorter one",
			path, len(path), maxPath)
	}
	return path, func() {}, nil
}

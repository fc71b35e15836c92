package mcpproxy

import (
	"net"
	"path/filepath"
)

// maxPath is how long the path of a unix socket may be on all systems, in bytes.
const maxPath = 103

// listener listens on a socket at a path, which may be longer than maxPath.
type listener struct {
	*net.UnixListener
	path string
}

func listen(path string) (*listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	name, release, err := shortName(path)
	if err != nil {
		return nil, err
	}
	defer release()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: name, Net: "unix"})
	if err != nil {
		return nil, err
	}
	l.SetUnlinkOnClose(false)
	return &listener{l, path}, nil
}

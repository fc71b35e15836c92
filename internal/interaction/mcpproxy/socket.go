package mcpproxy

import (
	"io"
	"net"
	"path/filepath"
)

// maxPath is how long the path of a unix socket may be on all systems, in bytes.
const maxPath = 103

// listener listens on a socket at a path, which may be longer than maxPath, and by pipes beside it.
type listener struct {
	socket *net.UnixListener
	pipes  *pipes
	path   string
	free   chan struct{} // has room for the connections that there may be
}

func (l *listener) acceptSocket() (io.ReadWriteCloser, error) { return l.socket.Accept() }

func (l *listener) close() {
	l.socket.Close()
	l.pipes.close()
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
	p, err := listenPipes(path)
	if err != nil {
		l.Close()
		return nil, err
	}
	return &listener{socket: l, pipes: p, path: path, free: make(chan struct{}, maxConnections)}, nil
}

//go:build !unix

package relay

import "net"

func dial(path string) (connection, error) {
	return net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
}

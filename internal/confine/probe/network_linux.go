package probe

import (
	"net/netip"

	"golang.org/x/sys/unix"
)

func connectsSocket(t Targets) bool {
	for _, name := range []string{t.Socket, t.Address} {
		if fd, ok := connect(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: name}); ok {
			_ = unix.Close(fd)
			return true
		}
	}
	return false
}

// reachesNetwork tells of TCP alone: whether a packet arrived is for its receiver to say.
func reachesNetwork(t Targets) bool {
	if t.TCP == "" {
		return false
	}
	if fd, ok := connect(unix.AF_INET, unix.SOCK_DGRAM, inet(t.UDP)); ok {
		_, _ = unix.Write(fd, []byte(SecretText))
		_ = unix.Close(fd)
	}
	fd, ok := connect(unix.AF_INET, unix.SOCK_STREAM, inet(t.TCP))
	if ok {
		_ = unix.Close(fd)
	}
	return ok
}

// inet returns an IPv4 address with its port.
func inet(address string) unix.Sockaddr {
	a, err := netip.ParseAddrPort(address)
	if err != nil || !a.Addr().Is4() {
		panic("probe: not an IPv4 address with a port: " + address)
	}
	return &unix.SockaddrInet4{Addr: a.Addr().As4(), Port: int(a.Port())}
}

// connect returns a socket that is connected. It gives up after a second: in some sandboxes packets get lost.
func connect(family, kind int, to unix.Sockaddr) (fd int, ok bool) {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, false
	}
	err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 1})
	if err == nil {
		err = unix.Connect(fd, to)
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, false
	}
	return fd, true
}

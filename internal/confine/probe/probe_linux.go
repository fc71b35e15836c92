package probe

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Main is the program [helper.Prober].
func Main([]string) int {
	var t Targets
	if err := json.NewDecoder(os.Stdin).Decode(&t); err != nil {
		fmt.Fprintln(os.Stderr, "prober:", err)
		return 1
	}
	if t.exceeds() {
		return 0
	}
	properties := make(map[Property]bool)
	for property, succeeds := range map[Property]func(Targets) bool{
		FilesRead: readsFile, FilesWritten: writesFile, FileModes: changesMode, Terminals: opensTerminal,
		Processes: reachesProcess, Sockets: connectsSocket, Network: reachesNetwork, SetIDs: setsIDs,
		Namespaces: getsCapabilities, Interfaces: usesInterfaces,
	} {
		properties[property] = !succeeds(t)
	}
	if err := json.NewEncoder(os.Stdout).Encode(properties); err != nil {
		fmt.Fprintln(os.Stderr, "prober:", err)
		return 1
	}
	return 0
}

func readsFile(t Targets) bool {
	data, err := os.ReadFile(filepath.Join(t.Dir, SecretFile))
	return err == nil && string(data) == SecretText
}

func writesFile(t Targets) bool {
	if _, err := os.Lstat(t.Dir); err != nil {
		return false
	}
	return os.WriteFile(filepath.Join(t.Dir, "new"), nil, 0o600) == nil
}

func changesMode(t Targets) bool {
	if os.Chmod(filepath.Join(t.Dir, SecretFile), 0o400) == nil {
		return true
	}
	info, err := os.Stat(os.DevNull)
	return err == nil && os.Chmod(os.DevNull, info.Mode().Perm()) == nil // as it is: it may be the machine's
}

func opensTerminal(t Targets) bool {
	if t.Tty == "" {
		return false
	}
	f, err := os.OpenFile(t.Tty, os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return false
	}
	f.Close()
	return true
}

func reachesProcess(t Targets) bool {
	if pids, err := os.Readlink("/proc/self/ns/pid"); err == nil && pids != t.PIDs {
		return false // the id belongs to another process in this namespace
	}
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", t.Process))
	if err == nil && bytes.Contains(environ, []byte(t.Marker)) {
		return true
	}
	return unix.Kill(t.Process, 0) == nil // sends no signal
}

func connectsSocket(t Targets) bool {
	for _, name := range []string{t.Socket, t.Address} {
		if fd, ok := connect(unix.AF_UNIX, unix.SOCK_STREAM, &unix.SockaddrUnix{Name: name}); ok {
			_ = unix.Close(fd)
			return true
		}
	}
	return false
}

// reachesNetwork reports whether a TCP connection succeeds. It also sends a UDP packet, whose arrival only the receiver
// can know.
func reachesNetwork(t Targets) bool {
	if t.TCP == "" {
		return false
	}
	if fd, ok := connect(unix.AF_INET, unix.SOCK_DGRAM, inet(t.UDP)); ok {
		_ = retry(func() error { _, err := unix.Write(fd, []byte(SecretText)); return err })
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

// connect returns a connected socket. It gives up after a second, since packets get lost in some sandboxes.
func connect(family, kind int, to unix.Sockaddr) (fd int, ok bool) {
	fd, err := unix.Socket(family, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return -1, false
	}
	err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: 1})
	if err == nil {
		err = retry(func() error { return unix.Connect(fd, to) })
	}
	if err != nil {
		_ = unix.Close(fd)
		return -1, false
	}
	return fd, true
}

// retry calls an attempt again as long as a signal interrupts it: an interrupted attempt is not one that the sandbox
// prevented. A connection that was made meanwhile is a success.
func retry(attempt func() error) error {
	for {
		switch err := attempt(); err {
		case unix.EINTR:
		case unix.EISCONN:
			return nil
		default:
			return err
		}
	}
}

package hostile

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/confine"
)

// answerTime is how long an escape waits for an answer. Those outside answer at once.
const answerTime = 300 * time.Millisecond

const noAddress = "not every machine has such an address"

// sockets are the escapes that talk to sockets outside.
func sockets() []Escape {
	return []Escape{
		{
			Name: "unix-stream", Property: confine.Sockets, Proof: Secret,
			try: func(t Target) (string, error) { return dial("unix", t.UnixStream) },
		},
		{
			Name: "unix-packet", Property: confine.Sockets, Proof: Secret,
			try: func(t Target) (string, error) { return dial("unixpacket", t.UnixPacket) },
		},
		{
			Name: "unix-stream-by-proc", Property: confine.Sockets, Proof: Secret,
			try: func(t Target) (string, error) { return dial("unix", "/proc/self/root"+t.UnixStream) },
		},
		{
			Name: "unix-abstract", Property: confine.Sockets, Proof: Secret,
			try: func(t Target) (string, error) { return dial("unix", "@"+t.Abstract) },
		},
		{
			Name: "unix-stream-by-io-uring", Property: confine.Sockets, Proof: Secret,
			Uncertain: "not every machine lets users have rings",
			try:       func(t Target) (string, error) { return ringDial(t.UnixStream) },
		},
		{Name: "tcp", Property: confine.Network, Proof: Secret, try: func(t Target) (string, error) { return dial("tcp", t.TCP) }},
		{
			Name: "tcp-6", Property: confine.Network, Proof: Secret, Uncertain: noAddress,
			try: func(t Target) (string, error) { return dial("tcp", t.TCP6) },
		},
		{
			Name: "tcp-host", Property: confine.Network, Proof: Secret, Uncertain: noAddress,
			try: func(t Target) (string, error) { return dial("tcp", t.Host) },
		},
		{
			Name: "tcp-fast-open", Property: confine.Network, Proof: Secret, Uncertain: "it can be off",
			try: fastOpen,
		},
		{
			Name: "mptcp", Property: confine.Network, Proof: Secret, Uncertain: "not every kernel has it",
			try: func(t Target) (string, error) {
				var d net.Dialer
				d.SetMultipathTCP(true)
				return ask(d.DialContext(timeout(), "tcp", t.TCP))
			},
		},
		{Name: "udp", Property: confine.Network, Proof: Secret, try: func(t Target) (string, error) { return dial("udp", t.UDP) }},
		{Name: "udp-unconnected", Property: confine.Network, Proof: Secret, try: sendTo},
		{
			Name: "packet-socket", Property: confine.Network, Uncertain: onlyRoot,
			try: func(Target) (string, error) {
				fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
				if err != nil {
					return "", err
				}
				// In a network of its own, it hears nothing of others.
				defer unix.Close(fd)
				return "", hears(fd)
			},
		},
	}
}

// timeout ends what takes longer than answers do.
func timeout() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), answerTime)
	context.AfterFunc(ctx, cancel)
	return ctx
}

// dial asks the socket at an address for the secret.
func dial(network, address string) (string, error) {
	if address == "" {
		return "", errors.New("no address")
	}
	var d net.Dialer
	return ask(d.DialContext(timeout(), network, address))
}

// ask asks for the secret and returns the answer.
func ask(conn net.Conn, err error) (string, error) {
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return "", err
	}
	if _, err := conn.Write([]byte("?")); err != nil {
		return "", err
	}
	answer := make([]byte, 1<<10)
	n, err := conn.Read(answer)
	return string(answer[:n]), err
}

// sendTo asks by UDP without connect.
func sendTo(t Target) (string, error) {
	address, err := netip.ParseAddrPort(t.UDP)
	if err != nil {
		return "", err
	}
	conn, err := net.ListenUDP("udp4", nil)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(answerTime)); err != nil {
		return "", err
	}
	if _, err := conn.WriteToUDPAddrPort([]byte("?"), address); err != nil {
		return "", err
	}
	answer := make([]byte, 1<<10)
	n, err := conn.Read(answer)
	return string(answer[:n]), err
}

// fastOpen connects by sending, without connect.
func fastOpen(t Target) (string, error) {
	address, err := netip.ParseAddrPort(t.TCP)
	if err != nil {
		return "", err
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(fd)
	to := &unix.SockaddrInet4{Port: int(address.Port()), Addr: address.Addr().As4()}
	if err := unix.Sendto(fd, []byte("?"), unix.MSG_FASTOPEN, to); err != nil {
		return "", err
	}
	return receive(fd)
}

// receive returns what comes from a socket.
func receive(fd int) (string, error) {
	limit := unix.NsecToTimeval(int64(answerTime))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &limit); err != nil {
		return "", err
	}
	answer := make([]byte, 1<<10)
	n, err := unix.Read(fd, answer)
	for err == unix.EINTR {
		n, err = unix.Read(fd, answer)
	}
	if n == 0 && err == nil {
		err = io.EOF
	}
	return string(answer[:max(n, 0)]), err
}

// hears returns an error if nothing comes from a socket.
func hears(fd int) error {
	_, err := receive(fd)
	return err
}

// ringDial connects to a unix socket by a ring, which no system call for connecting sees.
func ringDial(path string) (string, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	f := os.NewFile(uintptr(fd), path)
	defer f.Close()
	if err := ringConnect(fd, path); err != nil {
		return "", err
	}
	if _, err := unix.Write(fd, []byte("?")); err != nil {
		return "", err
	}
	return receive(fd)
}

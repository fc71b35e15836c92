package hostile

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync/atomic"
	"time"
	"unsafe"

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
		{Name: "unix-datagram-by-pair", Property: confine.Sockets, Proof: Secret, try: pairTo},
		{
			Name: "unix-stream-by-io-uring", Property: confine.Sockets, Proof: Secret,
			Uncertain: "not every machine lets users have rings",
			try:       func(t Target) (string, error) { return ringDial(t.UnixStream) },
		},
		{
			Name: "tcp", Property: confine.Network, Proof: Secret,
			try: func(t Target) (string, error) { return dial("tcp", t.TCP) },
		},
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
		{
			Name: "udp", Property: confine.Network, Proof: Secret,
			try: func(t Target) (string, error) { return dial("udp", t.UDP) },
		},
		{Name: "udp-unconnected", Property: confine.Network, Proof: Secret, try: sendTo},
		{
			Name: "packet-socket", Property: confine.Network, Uncertain: onlyRoot,
			try: func(Target) (string, error) {
				fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, 0)
				if err != nil {
					return "", err
				}
				// In a network namespace of its own, it receives nothing from others.
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

// pairTo sends from one end of a pair, which takes no socket of its own, to a path. The answer comes by the end of
// another pair, which it sends along.
func pairTo(t Target) (string, error) {
	from, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(from[0])
	defer unix.Close(from[1])
	back, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	defer unix.Close(back[0])
	rights := unix.UnixRights(back[1])
	err = unix.Sendmsg(from[0], []byte("?"), rights, &unix.SockaddrUnix{Name: t.UnixDatagram}, 0)
	_ = unix.Close(back[1])
	if err != nil {
		return "", err
	}
	return receive(back[0])
}

// Parts of the kernel's interface for rings (io_uring) that x/sys does not have.
const (
	ringParams    = 120 // size of struct io_uring_params
	entrySize     = 64  // of struct io_uring_sqe
	opConnect     = 16
	opOpenAt      = 18
	offsetEntries = 0x10000000
	offsetResults = 0x8000000
	waitForResult = 1 // IORING_ENTER_GETEVENTS
)

// ringOpen opens a file for reading by a ring, which filters of system calls do not see.
func ringOpen(path string) (fd int, err error) {
	name, err := unix.BytePtrFromString(path)
	if err != nil {
		return -1, err
	}
	entry := make([]byte, entrySize)
	entry[0] = opOpenAt
	cwd := int32(unix.AT_FDCWD)
	binary.NativeEndian.PutUint32(entry[4:], uint32(cwd))
	binary.NativeEndian.PutUint64(entry[16:], uint64(uintptr(unsafe.Pointer(name))))
	binary.NativeEndian.PutUint32(entry[28:], unix.O_RDONLY|unix.O_CLOEXEC)
	defer runtime.KeepAlive(name)
	return submit(entry)
}

// ringConnect connects a socket to a path by a ring.
func ringConnect(fd int, path string) error {
	address := new(unix.RawSockaddrUnix)
	address.Family = unix.AF_UNIX
	for i := range path {
		address.Path[i] = int8(path[i])
	}
	entry := make([]byte, entrySize)
	entry[0] = opConnect
	binary.NativeEndian.PutUint32(entry[4:], uint32(fd))
	binary.NativeEndian.PutUint64(entry[8:], uint64(unsafe.Sizeof(*address)))
	binary.NativeEndian.PutUint64(entry[16:], uint64(uintptr(unsafe.Pointer(address))))
	defer runtime.KeepAlive(address)
	_, err := submit(entry)
	return err
}

// submit makes a ring, submits one entry and returns the result.
func submit(entry []byte) (result int, err error) {
	params := make([]byte, ringParams)
	n, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 1, uintptr(unsafe.Pointer(&params[0])), 0)
	if errno != 0 {
		return -1, errno
	}
	ring := int(n)
	defer unix.Close(ring)
	// Where things are in the rings: the structures io_sqring_offsets and io_cqring_offsets.
	submission := func(i int) uint32 { return binary.NativeEndian.Uint32(params[40+4*i:]) }
	completion := func(i int) uint32 { return binary.NativeEndian.Uint32(params[80+4*i:]) }
	const tail, array, results = 1, 6, 5
	page := unix.Getpagesize()
	var maps [3][]byte
	for i, offset := range []int64{0, offsetEntries, offsetResults} {
		maps[i], err = unix.Mmap(ring, offset, page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_POPULATE)
		if err != nil {
			return -1, err
		}
		defer func() { _ = unix.Munmap(maps[i]) }()
	}
	copy(maps[1], entry)
	binary.NativeEndian.PutUint32(maps[0][submission(array):], 0)
	atomic.StoreUint32((*uint32)(unsafe.Pointer(&maps[0][submission(tail)])), 1)
	_, _, errno = unix.Syscall6(unix.SYS_IO_URING_ENTER, uintptr(ring), 1, 1, waitForResult, 0, 0)
	if errno != 0 {
		return -1, errno
	}
	value := int32(binary.NativeEndian.Uint32(maps[2][completion(results)+8:]))
	if value < 0 {
		return -1, unix.Errno(-value)
	}
	return int(value), nil
}

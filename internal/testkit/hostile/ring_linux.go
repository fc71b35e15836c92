package hostile

import (
	"encoding/binary"
	"runtime"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Parts of the kernel's interface for rings (io_uring) that x/sys has not.
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

// submit has a ring of its own do one thing and returns the result.
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

//go:build amd64 || arm64

package lockdown

import (
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in the kernel's struct seccomp_data. Our architectures are little-endian: the low half of an argument comes
// first.
const (
	offsetCall = 0
	offsetArch = 4
	offsetArg0 = 16
)

// architectures has the AUDIT_ARCH_ values by GOARCH.
var architectures = map[string]uint32{
	"amd64": unix.AUDIT_ARCH_X86_64,
	"arm64": unix.AUDIT_ARCH_AARCH64,
}

// x32 is set in the numbers of system calls of amd64's x32 ABI.
const x32 = 0x40000000

// bypasses lists system calls that bypass other rules: they reach sockets and files without the usual calls, or the
// user's keys.
var bypasses = []uint32{
	unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
	unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL,
}

// shared lists system calls for memory and messages that the whole machine, or an IPC namespace, shares.
var shared = []uint32{unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN}

// userCalls lists system calls that change how all processes of a user run, if their first argument has the value
// which.
var userCalls = []struct{ call, which uint32 }{
	{unix.SYS_SETPRIORITY, unix.PRIO_USER},
	{unix.SYS_IOPRIO_SET, ioprioWhoUser},
}

// ioprioWhoUser is a value that package unix does not name.
const ioprioWhoUser = 3

// otherCalls lists system calls that change how a process runs, with the index of the argument that is its id. The id 0
// means the caller.
var otherCalls = []struct{ call, argument uint32 }{
	{unix.SYS_PRLIMIT64, 0},
	{unix.SYS_SETPRIORITY, 1},
	{unix.SYS_IOPRIO_SET, 1},
	{unix.SYS_SCHED_SETSCHEDULER, 0},
	{unix.SYS_SCHED_SETPARAM, 0},
	{unix.SYS_SCHED_SETATTR, 0},
}

// filterCalls has the kernel refuse system calls of the calling thread.
func filterCalls(r Rules) error {
	program := filter(r)
	prog := unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&prog)))
	if errno != 0 {
		return errno
	}
	return nil
}

// filter returns the program for the rules. It refuses all system calls of other architectures, whose numbers differ.
// Offline leaves unix sockets and those of netlink, by which programs learn their own addresses. Files means that other
// processes share the machine, which is not a namespace, so it refuses the shared calls, too.
func filter(r Rules) []unix.SockFilter {
	var p []unix.SockFilter
	load := func(offset uint32) {
		p = append(p, unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset})
	}
	refuse := func(errno unix.Errno) {
		p = append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)})
	}
	// Both compare the loaded value with k: unless skips the next n instructions if the comparison holds, onlyIf if it
	// does not.
	unless := func(code uint16, k uint32, n uint8) {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | code | unix.BPF_K, Jt: n, K: k})
	}
	onlyIf := func(code uint16, k uint32, n uint8) {
		p = append(p, unix.SockFilter{Code: unix.BPF_JMP | code | unix.BPF_K, Jf: n, K: k})
	}
	load(offsetArch)
	unless(unix.BPF_JEQ, architectures[runtime.GOARCH], 1)
	refuse(unix.ENOSYS)
	load(offsetCall)
	if runtime.GOARCH == "amd64" {
		onlyIf(unix.BPF_JGE, x32, 1)
		refuse(unix.ENOSYS)
	}
	calls := bypasses
	if r.Files {
		calls = slices.Concat(bypasses, shared)
	}
	for _, call := range calls {
		onlyIf(unix.BPF_JEQ, call, 1)
		refuse(unix.ENOSYS) // as on a kernel without the call, so that libraries do without it
	}
	if r.Files {
		for _, c := range userCalls {
			onlyIf(unix.BPF_JEQ, c.call, 4)
			load(offsetArg0)
			onlyIf(unix.BPF_JEQ, c.which, 1)
			refuse(unix.EPERM)
			load(offsetCall)
		}
		for _, c := range otherCalls {
			onlyIf(unix.BPF_JEQ, c.call, 4)
			load(offsetArg0 + 8*c.argument)
			unless(unix.BPF_JEQ, 0, 1)
			refuse(unix.EPERM)
			load(offsetCall)
		}
	}
	if r.Offline {
		onlyIf(unix.BPF_JEQ, unix.SYS_SOCKET, 4)
		load(offsetArg0)
		unless(unix.BPF_JEQ, unix.AF_UNIX, 2)
		unless(unix.BPF_JEQ, unix.AF_NETLINK, 1)
		refuse(unix.EACCES)
	}
	return append(p, unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW})
}

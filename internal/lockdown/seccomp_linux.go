//go:build amd64 || arm64

package lockdown

import (
	"cmp"
	"runtime"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Offsets in the kernel's struct seccomp_data. Our architectures are little-endian: the low half of an argument comes
// first. The kernel itself looks at no more than the low half of any argument that is tested here.
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

// refusal is a system call that fails with errno if all tests of its arguments hold.
type refusal struct {
	call  uint32
	errno unix.Errno
	tests []test
}

// test compares an argument with a value.
type test struct {
	argument uint32
	how      comparison
	value    uint32
}

// comparison is how a test compares.
type comparison int

const (
	is     comparison = iota // it is the value
	isNot                    // it is anything else
	hasAny                   // it has one of the value's bits, or more
)

// refuse returns refusals of calls, whatever their arguments.
func refuse(errno unix.Errno, calls ...uint32) []refusal {
	all := make([]refusal, len(calls))
	for i, call := range calls {
		all[i] = refusal{call: call, errno: errno}
	}
	return all
}

// bypasses are calls that no ordinary program needs: they reach files, sockets, memory and the kernel without the usual
// calls, or reach the user's keys. A filter cannot see the mode that openat2 makes a file with. Calls that libraries
// try first, and do without on older kernels, are not there; the others are not permitted.
var bypasses = slices.Concat(
	refuse(unix.ENOSYS, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER,
		unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY, unix.SYS_KEYCTL, unix.SYS_OPENAT2),
	refuse(unix.EPERM, unix.SYS_BPF, unix.SYS_USERFAULTFD, unix.SYS_PERF_EVENT_OPEN, unix.SYS_OPEN_BY_HANDLE_AT,
		unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV),
)

// namespaces are calls by which a process gets capabilities, in a user namespace, and those that are of use only with
// them. A filter cannot see the flags of clone3; without it libraries use clone.
var namespaces = slices.Concat(
	refuse(unix.ENOSYS, unix.SYS_CLONE3),
	refuse(unix.EPERM, unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE,
		unix.SYS_OPEN_TREE_ATTR, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG, unix.SYS_FSMOUNT,
		unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR),
	[]refusal{
		{unix.SYS_CLONE, unix.EPERM, []test{{0, hasAny, unix.CLONE_NEWUSER}}},
		{unix.SYS_UNSHARE, unix.EPERM, []test{{0, hasAny, unix.CLONE_NEWUSER}}},
	},
)

const (
	// setID are the bits of a mode that have others run a file with the rights of its owner or group.
	setID = unix.S_ISUID | unix.S_ISGID
	// makesFile are the flags of open with which it looks at the mode.
	makesFile = unix.O_CREAT | unix.O_TMPFILE&^unix.O_DIRECTORY
)

// setIDs are calls that give a file one of those bits. Mkdir gives none.
var setIDs = append([]refusal{
	{unix.SYS_FCHMOD, unix.EPERM, []test{{1, hasAny, setID}}},
	{unix.SYS_FCHMODAT, unix.EPERM, []test{{2, hasAny, setID}}},
	{unix.SYS_FCHMODAT2, unix.EPERM, []test{{2, hasAny, setID}}},
	{unix.SYS_MKNODAT, unix.EPERM, []test{{2, hasAny, setID}}},
	{unix.SYS_OPENAT, unix.EPERM, []test{{2, hasAny, makesFile}, {3, hasAny, setID}}},
}, oldSetIDs...)

// families are the rules about sockets: none but those of the internet, unix sockets, and those of netlink by which
// programs learn their own addresses.
var families = []refusal{
	{unix.SYS_SOCKET, unix.EAFNOSUPPORT, []test{
		{0, isNot, unix.AF_UNIX}, {0, isNot, unix.AF_INET}, {0, isNot, unix.AF_INET6}, {0, isNot, unix.AF_NETLINK},
	}},
	{unix.SYS_SOCKET, unix.EPROTONOSUPPORT, []test{{0, is, unix.AF_NETLINK}, {2, isNot, unix.NETLINK_ROUTE}}},
}

// offline leaves no sockets of the internet.
var offline = []refusal{
	{unix.SYS_SOCKET, unix.EACCES, []test{{0, is, unix.AF_INET}}},
	{unix.SYS_SOCKET, unix.EACCES, []test{{0, is, unix.AF_INET6}}},
}

// unconnected leaves no unix sockets but pairs, whose ends are connected for good. An end of a pair for datagrams can
// send to any path, which a filter cannot see. SOCK_RAW means the same, and both have this bit; SOCK_STREAM and
// SOCK_SEQPACKET do not.
var unconnected = []refusal{
	{unix.SYS_SOCKET, unix.EACCES, []test{{0, is, unix.AF_UNIX}}},
	{unix.SYS_SOCKETPAIR, unix.EACCES, []test{{1, hasAny, unix.SOCK_DGRAM}}},
}

// shared are calls for what all processes of the machine, or of an IPC namespace, share: memory, messages, and how
// other processes run. The id 0 of a process means the caller.
var shared = slices.Concat(
	refuse(unix.ENOSYS, unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_MSGGET, unix.SYS_SEMGET, unix.SYS_MQ_OPEN),
	[]refusal{
		{unix.SYS_SETPRIORITY, unix.EPERM, []test{{0, is, unix.PRIO_USER}}},
		{unix.SYS_SETPRIORITY, unix.EPERM, []test{{1, isNot, 0}}},
		{unix.SYS_IOPRIO_SET, unix.EPERM, []test{{0, is, ioprioWhoUser}}},
		{unix.SYS_IOPRIO_SET, unix.EPERM, []test{{1, isNot, 0}}},
		{unix.SYS_PRLIMIT64, unix.EPERM, []test{{0, isNot, 0}}},
		{unix.SYS_SCHED_SETSCHEDULER, unix.EPERM, []test{{0, isNot, 0}}},
		{unix.SYS_SCHED_SETPARAM, unix.EPERM, []test{{0, isNot, 0}}},
		{unix.SYS_SCHED_SETATTR, unix.EPERM, []test{{0, isNot, 0}}},
	},
)

// ioprioWhoUser is a value that package unix does not name.
const ioprioWhoUser = 3

// refusals returns what the rules refuse. Files means that other processes share the machine, which is not a namespace,
// so it refuses what is shared, too.
func refusals(r Rules) []refusal {
	all := slices.Concat(bypasses, setIDs, families)
	for _, part := range []struct {
		on   bool
		more []refusal
	}{
		{!r.Namespaces, namespaces}, {r.Files, shared}, {r.Unconnected, unconnected}, {r.Offline, offline},
	} {
		if part.on {
			all = append(all, part.more...)
		}
	}
	slices.SortStableFunc(all, func(a, b refusal) int { return cmp.Compare(a.call, b.call) })
	return all
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
func filter(r Rules) []unix.SockFilter {
	p := []unix.SockFilter{
		load(offsetArch), jump(unix.BPF_JEQ, architectures[runtime.GOARCH], 1, 0), fail(unix.ENOSYS), load(offsetCall),
	}
	if runtime.GOARCH == "amd64" {
		p = append(p, jump(unix.BPF_JGE, x32, 0, 1), fail(unix.ENOSYS))
	}
	all := refusals(r)
	for len(all) > 0 { // the refusals of one call stand together
		n := slices.IndexFunc(all, func(next refusal) bool { return next.call != all[0].call })
		if n < 0 {
			n = len(all)
		}
		var body []unix.SockFilter
		for _, refused := range all[:n] {
			body = append(body, refused.program()...)
		}
		body = append(body, allow)
		p = append(append(p, jump(unix.BPF_JEQ, all[0].call, 0, uint8(len(body)))), body...)
		all = all[n:]
	}
	return append(p, allow)
}

// program returns the part of a filter that refuses a call, after which the filter goes on if a test fails.
func (r refusal) program() []unix.SockFilter {
	var p []unix.SockFilter
	for i, t := range r.tests {
		past := uint8(2*(len(r.tests)-i) - 1) // what is left of this part: a load and a jump for each test, and the end
		p = append(p, load(offsetArg0+8*t.argument))
		switch t.how {
		case is:
			p = append(p, jump(unix.BPF_JEQ, t.value, 0, past))
		case isNot:
			p = append(p, jump(unix.BPF_JEQ, t.value, past, 0))
		case hasAny:
			p = append(p, jump(unix.BPF_JSET, t.value, 0, past))
		}
	}
	return append(p, fail(r.errno))
}

func load(offset uint32) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, K: offset}
}

// jump compares the loaded value with k, and skips as many instructions as it says for yes and for no.
func jump(code uint16, k uint32, yes, no uint8) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_JMP | code | unix.BPF_K, Jt: yes, Jf: no, K: k}
}

func fail(errno unix.Errno) unix.SockFilter {
	return unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ERRNO | uint32(errno)}
}

var allow = unix.SockFilter{Code: unix.BPF_RET | unix.BPF_K, K: unix.SECCOMP_RET_ALLOW}

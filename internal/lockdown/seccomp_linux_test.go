//go:build amd64 || arm64

package lockdown

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestFilter runs the programs as the kernel does.
func TestFilter(t *testing.T) {
	ours, files, offline := architectures[runtime.GOARCH], Rules{Files: true}, Rules{Offline: true}
	both := Rules{Files: true, Offline: true}
	unconnected, namespaces := Rules{Unconnected: true}, Rules{Namespaces: true}
	const other, newUser = 1234, unix.CLONE_NEWUSER | uint32(unix.SIGCHLD)
	pair := func(kind uint32) [4]uint32 { return [4]uint32{unix.AF_UNIX, kind | unix.SOCK_CLOEXEC} }
	tests := []struct {
		name  string
		rules Rules
		arch  uint32 // 0: ours
		call  uint32
		args  [4]uint32
		want  unix.Errno // 0: the call is allowed
	}{
		{name: "read", rules: both, call: unix.SYS_READ},
		{name: "of-another-architecture", arch: unix.AUDIT_ARCH_I386, call: unix.SYS_READ, want: unix.ENOSYS},
		{name: "io-uring", call: unix.SYS_IO_URING_SETUP, want: unix.ENOSYS},
		{name: "keys", call: unix.SYS_KEYCTL, want: unix.ENOSYS},
		{name: "shared-memory-in-a-namespace", call: unix.SYS_SHMGET},
		{name: "shared-memory", rules: files, call: unix.SYS_SHMGET, want: unix.ENOSYS},
		{name: "message-queue", rules: both, call: unix.SYS_MQ_OPEN, want: unix.ENOSYS},
		{name: "own-limits", rules: both, call: unix.SYS_PRLIMIT64},
		{name: "limits-of-another", rules: both, call: unix.SYS_PRLIMIT64, args: [4]uint32{other}, want: unix.EPERM},
		{name: "limits-of-another-in-a-namespace", rules: offline, call: unix.SYS_PRLIMIT64, args: [4]uint32{other}},
		{name: "own-priority", rules: both, call: unix.SYS_SETPRIORITY, args: [4]uint32{unix.PRIO_PROCESS, 0, 5}},
		{
			name: "priority-of-another", rules: both,
			call: unix.SYS_SETPRIORITY, args: [4]uint32{unix.PRIO_PROCESS, other, 5}, want: unix.EPERM,
		},
		{
			name: "priority-of-the-user", rules: both,
			call: unix.SYS_SETPRIORITY, args: [4]uint32{unix.PRIO_USER, 0, 5}, want: unix.EPERM,
		},
		{
			name: "input-priority-of-the-user", rules: files,
			call: unix.SYS_IOPRIO_SET, args: [4]uint32{ioprioWhoUser}, want: unix.EPERM,
		},
		{name: "own-input-priority", rules: files, call: unix.SYS_IOPRIO_SET, args: [4]uint32{1}},
		{
			name: "scheduler-of-another", rules: files,
			call: unix.SYS_SCHED_SETATTR, args: [4]uint32{other}, want: unix.EPERM,
		},
		{name: "online", rules: files, call: unix.SYS_SOCKET, args: [4]uint32{unix.AF_INET}},
		{name: "offline", rules: offline, call: unix.SYS_SOCKET, args: [4]uint32{unix.AF_INET}, want: unix.EACCES},
		{name: "offline-6", rules: both, call: unix.SYS_SOCKET, args: [4]uint32{unix.AF_INET6}, want: unix.EACCES},
		{
			name: "offline-vsock", rules: both,
			call: unix.SYS_SOCKET, args: [4]uint32{unix.AF_VSOCK}, want: unix.EAFNOSUPPORT,
		},
		{
			name: "offline-packet", rules: both,
			call: unix.SYS_SOCKET, args: [4]uint32{unix.AF_PACKET}, want: unix.EAFNOSUPPORT,
		},
		{name: "offline-unix", rules: both, call: unix.SYS_SOCKET, args: [4]uint32{unix.AF_UNIX}},
		{name: "offline-netlink", rules: both, call: unix.SYS_SOCKET, args: [4]uint32{unix.AF_NETLINK}},
		{name: "vsock", call: unix.SYS_SOCKET, args: [4]uint32{unix.AF_VSOCK}, want: unix.EAFNOSUPPORT},
		{
			name: "netfilter", call: unix.SYS_SOCKET,
			args: [4]uint32{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER}, want: unix.EPROTONOSUPPORT,
		},
		{name: "unix", rules: files, call: unix.SYS_SOCKET, args: [4]uint32{unix.AF_UNIX, unix.SOCK_DGRAM}},
		{
			name: "unconnected", rules: unconnected, call: unix.SYS_SOCKET,
			args: [4]uint32{unix.AF_UNIX, unix.SOCK_STREAM | unix.SOCK_CLOEXEC}, want: unix.EACCES,
		},
		{name: "unconnected-internet", rules: unconnected, call: unix.SYS_SOCKET, args: [4]uint32{unix.AF_INET}},
		{name: "unconnected-pair", rules: unconnected, call: unix.SYS_SOCKETPAIR, args: pair(unix.SOCK_STREAM)},
		{name: "unconnected-packets", rules: unconnected, call: unix.SYS_SOCKETPAIR, args: pair(unix.SOCK_SEQPACKET)},
		{
			name: "unconnected-datagrams", rules: unconnected,
			call: unix.SYS_SOCKETPAIR, args: pair(unix.SOCK_DGRAM), want: unix.EACCES,
		},
		{
			name: "unconnected-raw", rules: unconnected,
			call: unix.SYS_SOCKETPAIR, args: pair(unix.SOCK_RAW), want: unix.EACCES,
		},
		{name: "fork", call: unix.SYS_CLONE, args: [4]uint32{uint32(unix.SIGCHLD)}},
		{name: "namespace", call: unix.SYS_CLONE, args: [4]uint32{newUser}, want: unix.EPERM},
		{name: "unshare", call: unix.SYS_UNSHARE, args: [4]uint32{newUser}, want: unix.EPERM},
		{name: "unshare-files", call: unix.SYS_UNSHARE, args: [4]uint32{unix.CLONE_FILES}},
		{name: "clone3", call: unix.SYS_CLONE3, want: unix.ENOSYS},
		{name: "setns", call: unix.SYS_SETNS, want: unix.EPERM},
		{name: "mount", call: unix.SYS_MOUNT, want: unix.EPERM},
		{name: "move-mount", call: unix.SYS_MOVE_MOUNT, want: unix.EPERM},
		{name: "allowed-namespace", rules: namespaces, call: unix.SYS_CLONE, args: [4]uint32{newUser}},
		{name: "allowed-clone3", rules: namespaces, call: unix.SYS_CLONE3},
		{name: "allowed-mount", rules: namespaces, call: unix.SYS_MOUNT},
		{name: "bpf", rules: namespaces, call: unix.SYS_BPF, want: unix.EPERM},
		{name: "chmod", call: unix.SYS_FCHMODAT, args: [4]uint32{0, 0, 0o1777}},
		{name: "chmod-user", call: unix.SYS_FCHMODAT, args: [4]uint32{0, 0, 0o4755}, want: unix.EPERM},
		{name: "chmod-group", call: unix.SYS_FCHMOD, args: [4]uint32{0, 0o2000}, want: unix.EPERM},
		{name: "chmod-with-flags", call: unix.SYS_FCHMODAT2, args: [4]uint32{0, 0, 0o6000}, want: unix.EPERM},
		{name: "mknod", call: unix.SYS_MKNODAT, args: [4]uint32{0, 0, unix.S_IFREG | 0o4755}, want: unix.EPERM},
		{name: "open", call: unix.SYS_OPENAT, args: [4]uint32{0, 0, unix.O_RDONLY, 0o4755}},
		{name: "open-new", call: unix.SYS_OPENAT, args: [4]uint32{0, 0, unix.O_CREAT, 0o755}},
		{name: "open-new-set-id", call: unix.SYS_OPENAT, args: [4]uint32{0, 0, unix.O_CREAT, 0o4755}, want: unix.EPERM},
		{
			name: "open-nameless-set-id", call: unix.SYS_OPENAT,
			args: [4]uint32{0, 0, unix.O_TMPFILE | unix.O_WRONLY, 0o2755}, want: unix.EPERM,
		},
		{name: "open-directory", call: unix.SYS_OPENAT, args: [4]uint32{0, 0, unix.O_DIRECTORY, 0o4755}},
		{name: "openat2", call: unix.SYS_OPENAT2, want: unix.ENOSYS},
		{name: "offline-pair", rules: both, call: unix.SYS_SOCKETPAIR, args: [4]uint32{unix.AF_UNIX}},
	}
	if runtime.GOARCH == "amd64" {
		tests = append(tests, tests[0])
		last := &tests[len(tests)-1]
		last.name, last.call, last.want = "x32", x32|unix.SYS_READ, unix.ENOSYS
	}
	for call, args := range oldCalls {
		tests = append(tests, tests[0])
		last := &tests[len(tests)-1]
		last.name, last.call, last.args, last.want = fmt.Sprintf("old-%d", call), call, args, unix.EPERM
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := map[uint32]uint32{
				offsetCall: tt.call, offsetArch: tt.arch,
				offsetArg0: tt.args[0], offsetArg0 + 8: tt.args[1], offsetArg0 + 16: tt.args[2],
				offsetArg0 + 24: tt.args[3],
			}
			if tt.arch == 0 {
				data[offsetArch] = ours
			}
			want := uint32(unix.SECCOMP_RET_ALLOW)
			if tt.want != 0 {
				want = unix.SECCOMP_RET_ERRNO | uint32(tt.want)
			}
			assert.Equal(t, want, run(t, filter(tt.rules), data))
		})
	}
}

// run returns the result of a program for a call, whose data has the values by their offsets.
func run(t *testing.T, program []unix.SockFilter, data map[uint32]uint32) uint32 {
	t.Helper()
	var loaded uint32
	for i := 0; ; i++ {
		require.Less(t, i, len(program), "the program runs past its end")
		holds := false
		switch p := program[i]; p.Code {
		case unix.BPF_LD | unix.BPF_W | unix.BPF_ABS:
			value, ok := data[p.K]
			require.True(t, ok, "the program loads from offset %d", p.K)
			loaded = value
			continue
		case unix.BPF_RET | unix.BPF_K:
			return p.K
		case unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K:
			holds = loaded == p.K
		case unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K:
			holds = loaded&p.K != 0
		case unix.BPF_JMP | unix.BPF_JGE | unix.BPF_K:
			holds = loaded >= p.K
		default:
			require.Fail(t, "unexpected instruction", "%+v", p)
		}
		if holds {
			i += int(program[i].Jt)
		} else {
			i += int(program[i].Jf)
		}
	}
}

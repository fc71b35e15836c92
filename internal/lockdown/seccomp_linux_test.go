//go:build amd64 || arm64

package lockdown

import (
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
	const other = 1234
	tests := []struct {
		name  string
		rules Rules
		arch  uint32 // 0: ours
		call  uint32
		args  [3]uint32
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
		{name: "limits-of-another", rules: both, call: unix.SYS_PRLIMIT64, args: [3]uint32{other}, want: unix.EPERM},
		{name: "limits-of-another-in-a-namespace", rules: offline, call: unix.SYS_PRLIMIT64, args: [3]uint32{other}},
		{name: "own-priority", rules: both, call: unix.SYS_SETPRIORITY, args: [3]uint32{unix.PRIO_PROCESS, 0, 5}},
		{
			name: "priority-of-another", rules: both,
			call: unix.SYS_SETPRIORITY, args: [3]uint32{unix.PRIO_PROCESS, other, 5}, want: unix.EPERM,
		},
		{
			name: "priority-of-the-user", rules: both,
			call: unix.SYS_SETPRIORITY, args: [3]uint32{unix.PRIO_USER, 0, 5}, want: unix.EPERM,
		},
		{
			name: "input-priority-of-the-user", rules: files,
			call: unix.SYS_IOPRIO_SET, args: [3]uint32{ioprioWhoUser}, want: unix.EPERM,
		},
		{name: "own-input-priority", rules: files, call: unix.SYS_IOPRIO_SET, args: [3]uint32{1}},
		{
			name: "scheduler-of-another", rules: files,
			call: unix.SYS_SCHED_SETATTR, args: [3]uint32{other}, want: unix.EPERM,
		},
		{name: "online", rules: files, call: unix.SYS_SOCKET, args: [3]uint32{unix.AF_INET}},
		{name: "offline", rules: offline, call: unix.SYS_SOCKET, args: [3]uint32{unix.AF_INET}, want: unix.EACCES},
		{name: "offline-6", rules: both, call: unix.SYS_SOCKET, args: [3]uint32{unix.AF_INET6}, want: unix.EACCES},
		{name: "offline-vsock", rules: both, call: unix.SYS_SOCKET, args: [3]uint32{unix.AF_VSOCK}, want: unix.EACCES},
		{
			name: "offline-packet", rules: both,
			call: unix.SYS_SOCKET, args: [3]uint32{unix.AF_PACKET}, want: unix.EACCES,
		},
		{name: "offline-unix", rules: both, call: unix.SYS_SOCKET, args: [3]uint32{unix.AF_UNIX}},
		{name: "offline-netlink", rules: both, call: unix.SYS_SOCKET, args: [3]uint32{unix.AF_NETLINK}},
		{name: "offline-pair", rules: both, call: unix.SYS_SOCKETPAIR, args: [3]uint32{unix.AF_UNIX}},
	}
	if runtime.GOARCH == "amd64" {
		tests = append(tests, tests[0])
		last := &tests[len(tests)-1]
		last.name, last.call, last.want = "x32", x32|unix.SYS_READ, unix.ENOSYS
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := map[uint32]uint32{
				offsetCall: tt.call, offsetArch: tt.arch,
				offsetArg0: tt.args[0], offsetArg0 + 8: tt.args[1], offsetArg0 + 16: tt.args[2],
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

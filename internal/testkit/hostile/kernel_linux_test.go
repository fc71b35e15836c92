package hostile

import (
	"cmp"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/confine"
)

const noNamespaces = "not every machine lets users have namespaces"

// namespaces are the escapes to a user namespace, in which a process has all capabilities.
func namespaces() []Escape {
	all := []Escape{
		{Name: "have-capabilities", Uncertain: onlyRoot, try: func(Target) (string, error) {
			header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
			var data [2]unix.CapUserData
			if err := unix.Capget(&header, &data[0]); err != nil {
				return "", err
			}
			if data == ([2]unix.CapUserData{}) {
				return "", errors.New("it has none")
			}
			return "", nil
		}},
		{Name: "clone-user-namespace", try: func(Target) (string, error) {
			cmd := exec.Command("/proc/self/exe")
			cmd.Args = []string{Name, "cat", os.DevNull}
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWUSER}
			return output(cmd)
		}},
		{Name: "unshare-user-namespace", try: func(Target) (string, error) {
			// No thread may leave the namespace of the others: the kernel says so, if it is asked.
			return "", reached(unix.Unshare(unix.CLONE_NEWUSER), unix.EINVAL)
		}},
		{Name: "unshare-by-program", try: func(t Target) (string, error) {
			return output(t.command("unshare", "--user", "--map-root-user", "true"))
		}},
		{Name: "clone-by-other-call", try: func(Target) (string, error) {
			_, _, errno := unix.Syscall(unix.SYS_CLONE3, 0, 0, 0)
			return "", reached(errno, unix.EINVAL)
		}},
		{Name: "enter-user-namespace", try: func(Target) (string, error) {
			fd, err := unix.Open("/proc/self/ns/user", unix.O_RDONLY|unix.O_CLOEXEC, 0)
			if err != nil {
				return "", err
			}
			defer unix.Close(fd)
			return "", reached(unix.Setns(fd, 0), unix.EINVAL) // it is its own
		}},
		{Name: "mount", try: func(t Target) (string, error) {
			if err := unix.Mount("none", t.Workspace, "tmpfs", 0, ""); err != nil {
				return "", err
			}
			return "", unix.Unmount(t.Workspace, unix.MNT_DETACH)
		}},
		{Name: "mount-by-descriptor", try: func(Target) (string, error) {
			fd, err := unix.Fsopen("tmpfs", unix.FSOPEN_CLOEXEC)
			if err == nil {
				err = unix.Close(fd)
			}
			return "", err
		}},
	}
	for i := range all {
		all[i].Property = confine.Namespaces
		all[i].Uncertain = cmp.Or(all[i].Uncertain, noNamespaces)
	}
	return all
}

// reached returns no error if a call fails as the kernel has it fail, not as something that stops it.
func reached(err error, kernel ...syscall.Errno) error {
	for _, e := range kernel {
		if errors.Is(err, e) {
			return nil
		}
	}
	return err
}

// interfaces are the escapes to parts of the kernel that no ordinary program needs.
func interfaces() []Escape {
	var all []Escape
	for _, s := range []struct {
		name                   string
		family, kind, protocol int
	}{
		{"vsock", unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		{"alg", unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		{"packet", unix.AF_PACKET, unix.SOCK_RAW, 0},
		{"bluetooth", unix.AF_BLUETOOTH, unix.SOCK_RAW, 0},
		{"xdp", unix.AF_XDP, unix.SOCK_RAW, 0},
		{"tipc", unix.AF_TIPC, unix.SOCK_SEQPACKET, 0},
		{"netfilter", unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER},
		{"uevents", unix.AF_NETLINK, unix.SOCK_DGRAM, unix.NETLINK_KOBJECT_UEVENT},
	} {
		all = append(all, Escape{Name: "socket-" + s.name, try: func(Target) (string, error) {
			fd, err := unix.Socket(s.family, s.kind|unix.SOCK_CLOEXEC, s.protocol)
			if err == nil {
				err = unix.Close(fd)
			}
			return "", err
		}})
	}
	for _, c := range []struct {
		name   string
		number uintptr
		args   [2]uintptr
		kernel []syscall.Errno // as which the kernel refuses these arguments
	}{
		{"bpf", unix.SYS_BPF, [2]uintptr{0, 0}, []syscall.Errno{unix.EINVAL, unix.EFAULT}},
		{"userfaultfd", unix.SYS_USERFAULTFD, [2]uintptr{1 << 20}, []syscall.Errno{unix.EINVAL}},
		{"perf-event", unix.SYS_PERF_EVENT_OPEN, [2]uintptr{0, 0}, []syscall.Errno{unix.EFAULT}},
		{"file-handle", unix.SYS_OPEN_BY_HANDLE_AT, [2]uintptr{^uintptr(0), 0}, []syscall.Errno{unix.EFAULT}},
		{"io-uring", unix.SYS_IO_URING_SETUP, [2]uintptr{1, 0}, []syscall.Errno{unix.EFAULT}},
	} {
		all = append(all, Escape{Name: c.name, try: func(Target) (string, error) {
			_, _, errno := unix.Syscall(c.number, c.args[0], c.args[1], 0)
			return "", reached(errno, c.kernel...)
		}})
	}
	for i := range all {
		all[i].Uncertain = "not every kernel has it, and not for every user"
	}
	all = append(all, Escape{Name: "memory-by-call", try: func(Target) (string, error) {
		from, to := byte('x'), byte(0)
		local := []unix.Iovec{{Base: &to}}
		local[0].SetLen(1)
		remote := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&from)), Len: 1}}
		_, err := unix.ProcessVMReadv(os.Getpid(), local, remote, 0)
		runtime.KeepAlive(&from)
		return "", err
	}})
	for i := range all {
		all[i].Property = confine.Interfaces
	}
	return all
}

// setIDKinds are ways to have a file with a mode, at a path where nothing is.
var setIDKinds = []struct {
	name, uncertain string
	make            func(path string, mode uint32) error
}{
	{name: "chmod", make: onFile(func(path string, _ int, mode uint32) error { return unix.Chmod(path, mode) })},
	{name: "fchmod", make: onFile(func(_ string, fd int, mode uint32) error { return unix.Fchmod(fd, mode) })},
	{name: "fchmodat", make: onFile(func(path string, _ int, mode uint32) error {
		return unix.Fchmodat(unix.AT_FDCWD, path, mode, 0)
	})},
	{name: "fchmodat2", uncertain: "Linux 6.6", make: onFile(func(path string, _ int, mode uint32) error {
		return unix.Fchmodat(unix.AT_FDCWD, path, mode, unix.AT_SYMLINK_NOFOLLOW)
	})},
	{name: "open", make: func(path string, mode uint32) error {
		return opened(unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, mode))
	}},
	{name: "openat2", uncertain: "Linux 5.6", make: func(path string, mode uint32) error {
		return opened(unix.Openat2(unix.AT_FDCWD, path,
			&unix.OpenHow{Flags: unix.O_CREAT | unix.O_WRONLY | unix.O_CLOEXEC, Mode: uint64(mode)}))
	}},
	{name: "nameless", uncertain: "not every file system has them", make: func(path string, mode uint32) error {
		fd, err := unix.Open(filepath.Dir(path), unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, mode)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		return unix.Linkat(unix.AT_FDCWD, descriptor(fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW)
	}},
	{name: "mknod", make: func(path string, mode uint32) error { return unix.Mknod(path, unix.S_IFREG|mode, 0) }},
	{name: "mkdir", uncertain: "no kernel does that", make: unix.Mkdir},
	{name: "chmod-by-program", make: onFile(func(path string, _ int, _ uint32) error {
		return exec.Command("chmod", "ug+s", path).Run()
	})},
}

// onFile makes a file, whose mode is to be changed.
func onFile(change func(path string, fd int, mode uint32) error) func(path string, mode uint32) error {
	return func(path string, mode uint32) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		defer f.Close()
		return change(path, int(f.Fd()), mode)
	}
}

func opened(fd int, err error) error {
	if err != nil {
		return err
	}
	return unix.Close(fd)
}

// setIDs are the escapes that leave a file in the workspace which runs with its owner's or group's rights.
func setIDs() []Escape {
	var all []Escape
	for _, k := range setIDKinds {
		for _, bit := range []struct {
			name string
			mode uint32
		}{{"user", unix.S_ISUID}, {"group", unix.S_ISGID}} {
			all = append(all, Escape{
				Name: "set-" + bit.name + "-id-by-" + k.name, Property: confine.SetIDs, Uncertain: k.uncertain,
				try: func(t Target) (string, error) {
					path := t.inside()
					if err := k.make(path, bit.mode|0o755); err != nil {
						return "", err
					}
					var st unix.Stat_t
					if err := unix.Stat(path, &st); err != nil {
						return "", err
					}
					if st.Mode&bit.mode == 0 {
						return "", errors.New("the kernel has dropped it")
					}
					return "", nil
				},
			})
		}
	}
	return all
}

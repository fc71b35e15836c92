package probe

import (
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// setsIDs reports whether a file can get the setuid bit, when it is made or later.
func setsIDs(t Targets) bool {
	f, err := os.CreateTemp(t.Own, "")
	if err != nil {
		return false
	}
	defer f.Close()
	name := f.Name()
	if unix.Chmod(name, unix.S_ISUID|0o755) == nil || unix.Fchmod(int(f.Fd()), unix.S_ISUID|0o755) == nil {
		return true
	}
	made, err := unix.Open(name+"-made", unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, unix.S_ISUID|0o755)
	if err != nil {
		return false
	}
	_ = unix.Close(made)
	return true
}

// getsCapabilities reports whether the prober has capabilities, or can start a process that has all of them, in a user
// namespace.
func getsCapabilities(Targets) bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err == nil && data[0].Effective|data[1].Effective != 0 {
		return true
	}
	// No file system runs a directory: if that is what fails, there was a process in a namespace of its own.
	_, err := syscall.ForkExec("/", []string{"/"}, &syscall.ProcAttr{
		Sys: &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER},
	})
	if err == syscall.EACCES {
		return true
	}
	if err == syscall.ENOSPC {
		return false // the machine has none for anybody
	}
	// No filter sees the flags of clone3, so there must be no such call: these arguments would be wrong.
	_, _, errno := unix.Syscall(unix.SYS_CLONE3, 0, 0, 0)
	return errno != unix.ENOSYS
}

// usesInterfaces reports whether one of these calls succeeds, which every user of a kernel that has it may make.
func usesInterfaces(Targets) bool {
	for _, s := range []struct{ family, kind, protocol int }{
		{unix.AF_VSOCK, unix.SOCK_STREAM, 0},
		{unix.AF_ALG, unix.SOCK_SEQPACKET, 0},
		{unix.AF_NETLINK, unix.SOCK_RAW, unix.NETLINK_NETFILTER},
		{unix.AF_PACKET, unix.SOCK_RAW, 0},
	} {
		if fd, err := unix.Socket(s.family, s.kind|unix.SOCK_CLOEXEC, s.protocol); err == nil {
			_ = unix.Close(fd)
			return true
		}
	}
	var from, to byte
	local := []unix.Iovec{{Base: &to}}
	local[0].SetLen(1)
	remote := []unix.RemoteIovec{{Base: uintptr(unsafe.Pointer(&from)), Len: 1}}
	_, err := unix.ProcessVMReadv(os.Getpid(), local, remote, 0)
	runtime.KeepAlive(&from)
	return err == nil
}

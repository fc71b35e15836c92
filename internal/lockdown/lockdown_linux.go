//go:build amd64 || arm64

package lockdown

import (
	"errors"
	"fmt"
	"io/fs"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Thread locks down the calling thread, which the caller must have bound to its goroutine by [runtime.LockOSThread] and
// must not release. After an error the thread has lost some of its rights, and must not be used for anything.
func Thread(r Rules) error {
	ruleset, err := newRuleset(r) // first, while the thread may still look up paths
	if err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	for _, mount := range r.Fixed {
		fix(mount)
	}
	if err := dropCapabilities(); err != nil {
		return fmt.Errorf("drop capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("set no_new_privs: %w", err)
	}
	if err := ruleset.restrict(); err != nil {
		return fmt.Errorf("landlock: %w", err)
	}
	if err := setLimits(); err != nil {
		return err
	}
	if err := filterCalls(r); err != nil {
		return fmt.Errorf("seccomp: %w", err)
	}
	return nil
}

// fix makes a mount read-only and keeps its other flags. Whether it could is known by measuring what a child can do.
func fix(mount string) {
	var s unix.Statfs_t
	if unix.Statfs(mount, &s) != nil {
		return
	}
	const kept = unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC // by the same bits in statfs; times of access stay
	flags := uintptr(s.Flags)&kept | unix.MS_REMOUNT | unix.MS_BIND | unix.MS_RDONLY
	_ = unix.Mount("none", mount, "", flags, "")
}

// maxFile is the largest size of a file, in bytes: with holes, one could otherwise be too large for whoever reads it.
// It is no smaller because .NET 7 to 9 die with SIGXFSZ where they may not have a file of this size, all hole.
const maxFile = 2 << 40

// setLimits limits files. These are the rules that apply to the whole process.
func setLimits() error {
	// A core dump holds the process's memory, with its secrets.
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("limit core dumps: %w", err)
	}
	var size unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_FSIZE, &size)
	if err == nil {
		size.Cur, size.Max = min(size.Cur, maxFile), min(size.Max, maxFile)
		err = unix.Setrlimit(unix.RLIMIT_FSIZE, &size)
	}
	if err != nil {
		return fmt.Errorf("limit the size of files: %w", err)
	}
	return nil
}

// dropCapabilities gives up all capabilities of the thread, and the possibility of regaining them by exec.
func dropCapabilities() error {
	_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) // Linux 4.3
	for c := uintptr(0); c <= unix.CAP_LAST_CAP+32; c++ {                       // newer kernels may have more
		if err := unix.Prctl(unix.PR_CAPBSET_DROP, c, 0, 0, 0); err != nil {
			break // there are no more capabilities, or the thread may not do this and so has none to lose
		}
	}
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	return unix.Capset(&header, &none[0])
}

// MinABI is the first version of Landlock that is good enough: with version 1 no file can be moved or linked to another
// directory.
const MinABI = 2

// ABI returns the kernel's version of Landlock, or 0 if the kernel has none or it is off.
func ABI() int {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0
	}
	return int(v)
}

// Rights and scopes of Landlock that package unix does not name, the versions that introduced them, and sets of rights.
const (
	accessResolveUnix  = 1 << 16 // connect to a unix socket by its path
	scopeAbstractUnix  = 1 << 0
	scopeSignal        = 1 << 1
	abiRefer           = 2
	abiTruncate        = 3
	abiIoctlDev        = 5
	abiScopes          = ScopeABI
	abiResolveUnix     = ConnectABI
	accessUpToABI1     = 1<<13 - 1
	accessExecuteFiles = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE
	accessRead         = accessExecuteFiles | unix.LANDLOCK_ACCESS_FS_READ_DIR
	accessFile         = accessExecuteFiles | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_TRUNCATE |
		unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// rulesetAttr is the kernel's struct landlock_ruleset_attr of ABI 6.
type rulesetAttr struct {
	handledFS, handledNet, scoped uint64
}

// ruleset is a Landlock ruleset that is not yet enforced. A nil ruleset restricts nothing.
type ruleset struct {
	fd      int
	handled uint64 // the rights of files that it takes
}

// newRuleset returns a ruleset for the rules, with all restrictions that the kernel knows.
func newRuleset(r Rules) (*ruleset, error) {
	abi := ABI()
	var attr rulesetAttr
	if r.Files {
		if abi < MinABI {
			return nil, fmt.Errorf("the kernel has ABI %d; want at least %d", abi, MinABI)
		}
		attr.handledFS = handledFiles(abi)
	}
	size := unsafe.Offsetof(attr.scoped) // the size of the struct in an older kernel
	if abi >= abiScopes {
		attr.scoped, size = scopeAbstractUnix|scopeSignal, unsafe.Sizeof(attr)
	}
	if attr == (rulesetAttr{}) {
		return nil, nil
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return nil, fmt.Errorf("create a ruleset: %w", errno)
	}
	s := &ruleset{fd: int(fd), handled: attr.handledFS}
	if !r.Files {
		return s, nil
	}
	return s, s.add(r)
}

// handledFiles returns the rights of files that an ABI knows.
func handledFiles(abi int) uint64 {
	all := uint64(accessUpToABI1)
	for _, right := range []struct {
		abi int
		bit uint64
	}{
		{abiRefer, unix.LANDLOCK_ACCESS_FS_REFER},
		{abiTruncate, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{abiIoctlDev, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{abiResolveUnix, accessResolveUnix},
	} {
		if abi >= right.abi {
			all |= right.bit
		}
	}
	return all
}

func (s *ruleset) add(r Rules) error {
	const write = ^uint64(unix.LANDLOCK_ACCESS_FS_IOCTL_DEV | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR |
		unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK | accessResolveUnix)
	for _, rule := range []struct {
		paths  []string
		access uint64
	}{
		{r.Read, accessRead},
		{r.Write, write},
		{r.List, unix.LANDLOCK_ACCESS_FS_READ_DIR},
		{r.Devices, accessRead | accessFile},
		{r.Connect, accessResolveUnix},
	} {
		if rule.access&s.handled == 0 { // the kernel does not know these rights
			continue
		}
		for _, path := range rule.paths {
			if err := s.allow(path, rule.access); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return fmt.Errorf("%s: %w", path, err)
			}
		}
	}
	return nil
}

// allow leaves rights to a file or directory, of those that the ruleset takes.
func (s *ruleset) allow(path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= accessFile
	}
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access & s.handled, Parent_fd: int32(fd)}
	_, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(s.fd), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// restrict enforces the ruleset on the calling thread.
func (s *ruleset) restrict() error {
	if s == nil {
		return nil
	}
	defer unix.Close(s.fd)
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(s.fd), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

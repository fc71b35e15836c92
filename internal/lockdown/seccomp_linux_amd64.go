package lockdown

import "golang.org/x/sys/unix"

// oldSetIDs are calls that newer architectures do not have.
var oldSetIDs = []refusal{
	{unix.SYS_CHMOD, unix.EPERM, []test{{1, hasAny, setID}}},
	{unix.SYS_CREAT, unix.EPERM, []test{{1, hasAny, setID}}},
	{unix.SYS_MKNOD, unix.EPERM, []test{{1, hasAny, setID}}},
	{unix.SYS_OPEN, unix.EPERM, []test{{1, hasAny, makesFile}, {2, hasAny, setID}}},
}

package lockdown

import "golang.org/x/sys/unix"

// oldCalls are calls of this architecture alone that would give a file the setuid bit.
var oldCalls = map[uint32][4]uint32{
	unix.SYS_CHMOD: {0, 0o4755},
	unix.SYS_CREAT: {0, 0o4755},
	unix.SYS_MKNOD: {0, unix.S_IFREG | 0o4755},
	unix.SYS_OPEN:  {0, unix.O_CREAT, 0o4755},
}

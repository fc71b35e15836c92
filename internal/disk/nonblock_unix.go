//go:build unix

package disk

import "syscall"

// Nonblock is the flag that keeps open from waiting for the other end of a FIFO. It does not affect regular files, but
// saves package os four system calls for each.
const Nonblock = syscall.O_NONBLOCK

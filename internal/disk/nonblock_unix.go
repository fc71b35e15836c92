//go:build unix

package disk

import "syscall"

// Nonblock is the flag that keeps an open from waiting for the other end of a FIFO, where there are any. For a regular
// file it means nothing, but spares package os four system calls that look for it.
const Nonblock = syscall.O_NONBLOCK

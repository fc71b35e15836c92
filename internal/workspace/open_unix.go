//go:build unix

package workspace

import "syscall"

// nonblock keeps an open from waiting for the other end of a FIFO, and spares a regular file four system calls in
// package os.
const nonblock = syscall.O_NONBLOCK

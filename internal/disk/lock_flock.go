//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package disk

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// Lock locks an open file until [Unlock] or the end of the process, or returns [ErrLocked].
func Lock(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		default:
			return os.NewSyscallError("flock", err)
		}
	}
}

// Unlock unlocks a file, even if a child that is just being started has a copy of the descriptor.
func Unlock(f *os.File) error {
	return os.NewSyscallError("flock", unix.Flock(int(f.Fd()), unix.LOCK_UN))
}

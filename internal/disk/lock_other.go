//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package disk

import (
	"errors"
	"os"
	"runtime"
)

// Lock returns an error.
func Lock(*os.File) error { return errors.New("files cannot be locked on " + runtime.GOOS) }

// Unlock does nothing.
func Unlock(*os.File) error { return nil }

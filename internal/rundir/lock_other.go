//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd || windows)

package rundir

import (
	"errors"
	"os"
	"runtime"
)

func lockFile(*os.File) error { return errors.New("runs cannot be locked on " + runtime.GOOS) }

func unlockFile(*os.File) error { return nil }

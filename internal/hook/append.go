package hook

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// appendLine appends a line to a file that other processes append to. It is one write, which file systems of this machine
// do whole. Where that fails half-way, since the disk is full, what was written is taken back, so that no part of a line
// is left. A part that a process left which was killed is closed with a newline of its own. Both need the lock; without
// one, which not all file systems have, lines are still whole as long as writes are.
func appendLine(path string, line []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|disk.Nonblock, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // which unlocks, too
	locked := lock(f)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := disk.CheckRegular(path, info); err != nil {
		return err
	}
	data := make([]byte, 0, len(line)+2)
	if locked && torn(f, info.Size()) {
		data = append(data, '\n')
	}
	data = append(append(data, line...), '\n')
	n, err := f.Write(data)
	if err != nil && n > 0 && locked {
		err = errors.Join(err, f.Truncate(info.Size()))
	}
	return err
}

// torn reports whether the file of that size ends in the middle of a line.
func torn(f *os.File, size int64) bool {
	var last [1]byte
	_, err := f.ReadAt(last[:], size-1)
	return size > 0 && (err == nil || errors.Is(err, io.EOF)) && last[0] != '\n'
}

// maxLockWait is how long a hook waits for others that write. Each of them takes less than a millisecond, unless it was
// stopped.
const maxLockWait = time.Second

// lock locks the file for this opening of it, and reports whether it could.
func lock(f *os.File) bool {
	for began := time.Now(); ; time.Sleep(100 * time.Microsecond) {
		switch err := disk.Lock(f); {
		case err == nil:
			return true
		case !errors.Is(err, disk.ErrLocked), time.Since(began) > maxLockWait:
			return false
		}
	}
}

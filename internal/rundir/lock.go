package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// locksDir holds the locks of the runs beside it. They are not in the runs: a directory could not be renamed on Windows
// while a file in it is open.
const locksDir = ".locks"

// lock is held on a run until release, or until the process dies.
type lock struct {
	file *os.File
	once sync.Once
}

// patience is how long acquire waits for a lock: whoever lists the runs holds it for a moment.
const patience = 500 * time.Millisecond

// acquire locks the run with the id, whether or not there is one. If another process holds it, or this one does, the
// error is disk.ErrLocked.
func acquire(runs, id string) (*lock, error) {
	for end := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		l, err := tryLock(runs, id)
		if !errors.Is(err, disk.ErrLocked) || time.Now().After(end) {
			return l, err
		}
	}
}

// tryLock is acquire without waiting.
func tryLock(runs, id string) (*lock, error) {
	path := filepath.Join(runs, locksDir, id)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, err
	}
	if err := disk.Lock(file); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", id, err), file.Close())
	}
	// It may have been removed by the one that held it before us, and then this is no lock at all.
	if !isAt(file, path) {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", id, disk.ErrLocked), file.Close())
	}
	return &lock{file: file}, nil
}

// release gives the lock up. It may be called again, and a nil lock needs none.
func (l *lock) release() (err error) {
	if l == nil {
		return nil
	}
	l.once.Do(func() {
		if runtime.GOOS != "windows" { // where what is open cannot be removed
			err = os.Remove(l.file.Name())
		}
		err = errors.Join(err, disk.Unlock(l.file), l.file.Close())
	})
	return err
}

// isLocked reports whether a process holds the run with the id.
func isLocked(runs, id string) (bool, error) {
	file, err := openRegular(filepath.Join(runs, locksDir, id), os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	err = disk.Lock(file)
	if err == nil {
		err = disk.Unlock(file)
	}
	locked := errors.Is(err, disk.ErrLocked)
	if locked {
		err = nil
	}
	return locked, errors.Join(err, file.Close())
}

// isAt reports whether the open file is the one at path.
func isAt(file *os.File, path string) bool {
	ours, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(ours, there)
}

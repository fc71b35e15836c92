//go:build unix

package disk

import (
	"io/fs"
	"os"
	"path"

	"golang.org/x/sys/unix"
)

// List returns the entries of a directory below a root, at most n of them if n > 0, in the order of the system, and the
// error of [os.File.ReadDir]. Other than that it asks the system for no more than names and kinds; the rest is in what
// Info returns, as long as the root is open.
func List(root *os.Root, dir string, n int) ([]fs.DirEntry, error) {
	f, err := root.OpenFile(dir, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	raw, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var same int
	controlErr := raw.Control(func(fd uintptr) { same, err = unix.FcntlInt(fd, unix.F_DUPFD_CLOEXEC, 0) })
	if controlErr != nil || err != nil {
		return f.ReadDir(n)
	}
	plain := os.NewFile(uintptr(same), f.Name()) // of which package os does not know that it is below a root
	defer plain.Close()
	entries, err := plain.ReadDir(n)
	for i, e := range entries {
		entries[i] = listed{e, root, dir}
	}
	return entries, err
}

// listed is an entry that is looked at below its root.
type listed struct {
	fs.DirEntry
	root *os.Root
	dir  string
}

func (l listed) Info() (fs.FileInfo, error) { return l.root.Lstat(path.Join(l.dir, l.Name())) }

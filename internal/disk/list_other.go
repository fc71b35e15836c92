//go:build !unix

package disk

import (
	"io/fs"
	"os"
)

// List returns the entries of a directory below a root, at most n of them if n > 0, in the order of the system, and the
// error of [os.File.ReadDir].
func List(root *os.Root, dir string, n int) ([]fs.DirEntry, error) {
	f, err := root.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return f.ReadDir(n)
}

package disk

import (
	"crypto/rand"
	"os"
	"path/filepath"
)

// RemoveAll is like [os.RemoveAll], but also removes directories that are not writable, such as those in Go's module
// cache, and trees of any depth.
func RemoveAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	if info, err := os.Lstat(dir); err == nil && info.IsDir() {
		_ = os.Chmod(dir, 0o700) // if it cannot be made writable, RemoveAll returns an error that names it
		if root, err := os.OpenRoot(dir); err == nil {
			flatten(root)
			root.Close()
		}
	}
	return os.RemoveAll(dir)
}

// RemoveAllIn is [RemoveAll] for what is at a name below a root.
func RemoveAllIn(root *os.Root, name string) error {
	if root.RemoveAll(name) == nil {
		return nil
	}
	if info, err := root.Lstat(name); err == nil && info.IsDir() {
		_ = root.Chmod(name, 0o700)
		if below, err := root.OpenRoot(name); err == nil {
			flatten(below)
			below.Close()
		}
	}
	return root.RemoveAll(name)
}

// flatten makes all directories below a root writable and moves them to its top. Then nothing is so deep that removing
// it takes more descriptors than there are, or a longer path than is allowed.
func flatten(root *os.Root) {
	for all := []string{"."}; len(all) > 0; {
		dir := all[len(all)-1]
		all = all[:len(all)-1]
		f, err := root.Open(dir)
		if err != nil {
			continue
		}
		entries, _ := f.ReadDir(-1) // those that it could read
		f.Close()
		for _, e := range entries {
			if !e.IsDir() {
				continue
			}
			name := filepath.Join(dir, e.Name())
			_ = root.Chmod(name, 0o700)
			if to := rand.Text(); dir != "." && root.Rename(name, to) == nil {
				name = to
			}
			all = append(all, name)
		}
	}
}

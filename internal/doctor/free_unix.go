//go:build unix

package doctor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// freeBytes returns how much a user may still write to the file system of a directory.
func freeBytes(dir string) (int64, error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, fmt.Errorf("%s: %w", dir, err)
	}
	return int64(st.Bavail) * int64(st.Bsize), nil //nolint:unconvert // the types differ from system to system
}

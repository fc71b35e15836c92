//go:build unix

package localtools

import (
	"io/fs"
	"syscall"
)

// links returns how many names the file has.
func links(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(stat.Nlink)
}

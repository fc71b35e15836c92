package doctor

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// freeBytes returns how much a user may still write to the volume of a directory.
func freeBytes(dir string) (int64, error) {
	path, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(path, &free, nil, nil); err != nil {
		return 0, fmt.Errorf("%s: %w", dir, err)
	}
	return int64(min(free, 1<<62)), nil
}

//go:build !linux

package disk

import "os"

// NextData returns where the next part of a file begins that may hold anything but zeros, from an offset on, and where
// it ends, which may be after the end of the file. After the last part the error is [io.EOF]. It moves the file's
// offset. Here that is all of the file.
func NextData(f *os.File, from int64) (start, end int64, err error) { return rest(f, from) }

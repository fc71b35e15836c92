package disk

import (
	"errors"
	"io"
	"math"
	"os"

	"golang.org/x/sys/unix"
)

// NextData returns where the next part of a file begins that may hold anything but zeros, from an offset on, and where
// it ends, which may be after the end of the file. After the last part the error is [io.EOF]. It moves the file's
// offset.
func NextData(f *os.File, from int64) (start, end int64, err error) {
	start, err = f.Seek(from, unix.SEEK_DATA)
	switch {
	case errors.Is(err, unix.ENXIO):
		return 0, 0, io.EOF
	case errors.Is(err, unix.EINVAL): // the file system does not know its holes
		return rest(f, from)
	case err != nil:
		return 0, 0, err
	}
	end, err = f.Seek(start, unix.SEEK_HOLE)
	if errors.Is(err, unix.ENXIO) { // it was cut meanwhile
		return start, math.MaxInt64, nil
	}
	return start, end, err
}

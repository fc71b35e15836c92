package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNotRegular is the error, within a [*fs.PathError], about a directory, a FIFO or a device in the place of a file.
var ErrNotRegular = errors.New("not a regular file")

// OpenRegular opens the regular file at path, or the one that a symbolic link there leads to, for reading. It waits for
// nobody, and opens no device, which may do something.
func OpenRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if err := CheckRegular(path, info); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(path, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, err
	}
	return stillRegular(f)
}

// OpenRegularIn is [OpenRegular] for a file below root.
func OpenRegularIn(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if err := CheckRegular(name, info); err != nil {
		return nil, err
	}
	f, err := root.OpenFile(name, os.O_RDONLY|Nonblock, 0)
	if err != nil {
		return nil, err
	}
	return stillRegular(f)
}

// stillRegular returns a file that may have been replaced before it was opened. It closes anything else.
func stillRegular(f *os.File) (*os.File, error) {
	info, err := f.Stat()
	if err == nil {
		err = CheckRegular(f.Name(), info)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// CheckRegular returns an error, [ErrNotRegular], unless info is of a regular file. The error names it.
func CheckRegular(name string, info fs.FileInfo) error {
	if !info.Mode().IsRegular() {
		return &fs.PathError{Op: "open", Path: name, Err: ErrNotRegular}
	}
	return nil
}

// ReadRegular reads the file that [OpenRegular] opens. One with more than limit bytes is a [*SizeError], which is within an
// error that names the file.
func ReadRegular(path string, limit int64) (data []byte, err error) {
	f, err := OpenRegular(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	data, err = ReadAll(f, limit)
	if _, large := errors.AsType[*SizeError](err); large {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return data, err
}

// ReadAll reads what is left of a file. If that file has more than limit bytes, it is a [*SizeError].
func ReadAll(f *os.File, limit int64) ([]byte, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() > limit {
		return nil, &SizeError{info.Size(), limit}
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if size := int64(len(data)); size > limit { // it has grown
		return nil, &SizeError{size, limit}
	}
	return data, nil
}

// SizeError is the error about a file that is larger than it may be.
type SizeError struct {
	// Size is how many bytes it has, at least, and Limit how many it may have.
	Size, Limit int64
}

func (e *SizeError) Error() string {
	return fmt.Sprintf("it has %d bytes, more than the %d that it may have", e.Size, e.Limit)
}

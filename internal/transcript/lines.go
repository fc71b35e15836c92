package transcript

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// The largest file that is read and the longest line in it, in bytes.
const (
	maxFile = 512 << 20
	maxLine = 64 << 20
)

// open opens a regular file that is not too large.
func open(path string) (*os.File, error) {
	f, err := disk.OpenRegular(path)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("%s: %w", path, &disk.SizeError{Size: info.Size(), Limit: maxFile})
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// lineError is an error at a line.
func lineError(file string, line int, err error) error {
	return fmt.Errorf("%s:%d: %w", file, line, err)
}

// eachLine calls f with each line that is not empty, and its number. Errors get the file and the line. An agent that is
// killed may leave half a line at the end, and that is an error too: the session did not end there.
func eachLine(file string, r io.Reader, f func(number int, line []byte) error) error {
	in := bufio.NewReaderSize(io.LimitReader(r, maxFile+1), 1<<16)
	for number := 1; ; number++ {
		line, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return lineError(file, number, err)
		}
		if text := bytes.TrimSpace(line); len(text) > 0 {
			if err := f(number, text); err != nil {
				return lineError(file, number, err)
			}
		}
		if err != nil {
			return nil
		}
	}
}

// readLine returns a line, with [io.EOF] if it is the last.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > maxLine {
			return nil, fmt.Errorf("the line has more than %d bytes", maxLine)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// decode decodes one JSON value. Numbers in values of any type keep their text.
func decode(data []byte, v any) error {
	if err := jsonvalue.Decode(data, v); err != nil {
		return formatError(err)
	}
	return nil
}

// formatError says of an error of encoding/json what it means for the format.
func formatError(err error) error {
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("%s is of type %s, which the format does not have there", cmp.Or(other.Field, "the line"), other.Value)
	}
	return fmt.Errorf("this is not JSON: %w", err)
}

// parseTime returns the time of a line.
func parseTime(s string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, s)
	if err != nil {
		return time.Time{}, fmt.Errorf("the line has no time: %q", fmt.Sprintf("%.40s", s))
	}
	return t, nil
}

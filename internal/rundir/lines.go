package rundir

import (
	"bufio"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is written or read, in bytes.
const maxLine = 64 << 20

// LineError is what is wrong with one line of the results of a run.
type LineError struct {
	// Root is the project's root and RunID the run.
	Root, RunID string
	File        string // empty: not known to who read it
	Line        int    // from 1
	Err         error
}

func (e *LineError) Error() string {
	if e.File == "" {
		return fmt.Sprintf("line %d: %v", e.Line, e.Err)
	}
	return fmt.Sprintf("%s:%d: %v", e.File, e.Line, e.Err)
}

func (e *LineError) Unwrap() error { return e.Err }

// readLines calls each, unless it is nil, with the whole lines and their numbers; a line is valid until the next. It
// returns how many bytes they have, and the number of a last line without a newline, 0 if there is none: its writer was
// killed, or is at it still.
func readLines(r io.Reader, each func(number int, line []byte) error) (whole int64, torn int, err error) {
	in := bufio.NewReaderSize(r, 64<<10)
	var line []byte
	for number := 1; ; {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return whole, 0, &LineError{Line: number, Err: fmt.Errorf("it has more than the %d bytes that a line may have", maxLine)}
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(line) == 0:
			return whole, 0, nil
		case errors.Is(err, io.EOF):
			return whole, number, nil
		case err != nil:
			return whole, 0, err
		}
		if each != nil {
			if err := each(number, line); err != nil {
				return whole, 0, &LineError{Line: number, Err: err}
			}
		}
		whole += int64(len(line))
		line = line[:0]
		number++
	}
}

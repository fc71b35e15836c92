package acp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// tooLongPrefix is how many bytes of a line that is too long are kept for the record.
const tooLongPrefix = 4 << 10

// lineReader reads lines of bounded length.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next returns the next line without its line end, in memory of its own. What comes before an error of the underlying
// reader is a line too; the error is returned by the next call. A line of more than max bytes is skipped: next returns its
// beginning and ErrLineTooLong, and can be called again.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		more := errors.Is(err, bufio.ErrBufferFull)
		if !tooLong {
			line = append(line, part...)
			if more { // the last byte may belong to the line end
				tooLong = len(line) > l.max+1
			} else {
				tooLong = len(trimLineEnd(line)) > l.max
			}
		}
		if tooLong && len(line) > tooLongPrefix {
			line = bytes.Clone(line[:tooLongPrefix]) // let go of the rest
		}
		switch {
		case more:
		case err != nil && len(line) == 0:
			return nil, err
		case tooLong:
			return trimLineEnd(line), ErrLineTooLong
		default:
			return trimLineEnd(line), nil
		}
	}
}

func trimLineEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

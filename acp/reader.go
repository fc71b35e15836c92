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
	r    *bufio.Reader
	max  int
	skip bool // the rest of a line that was too long comes next
}

func newLineReader(r io.Reader, limit int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: limit}
}

// next returns the next line without its line end, in memory of its own. What comes before an error of the underlying
// reader is a line too; the error is returned by the next call. As soon as a line has more than max bytes, next returns
// its beginning and ErrLineTooLong; the call after that skips the rest of the line.
func (l *lineReader) next() ([]byte, error) {
	if err := l.skipRest(); err != nil {
		return nil, err
	}
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		line = append(line, part...)
		unfinished := errors.Is(err, bufio.ErrBufferFull)
		switch {
		case unfinished && len(line) <= l.max+1: // the last byte may belong to the line end
		case unfinished, len(trimLineEnd(line)) > l.max:
			l.skip = unfinished
			line = trimLineEnd(line)
			return bytes.Clone(line[:min(len(line), tooLongPrefix)]), ErrLineTooLong
		case err != nil && len(line) == 0:
			return nil, err
		default:
			return trimLineEnd(line), nil
		}
	}
}

// skipRest reads to the end of a line that was too long.
func (l *lineReader) skipRest() error {
	for l.skip {
		_, err := l.r.ReadSlice('\n')
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
		l.skip = err != nil
	}
	return nil
}

func trimLineEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

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

// next returns the next line without its line end, in memory of its own. The last line may lack a line end. A line of
// more than max bytes is skipped: next returns its beginning and ErrLineTooLong, and can be called again. Any other error
// is that of the underlying reader.
func (l *lineReader) next() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := l.r.ReadSlice('\n')
		switch {
		case tooLong:
		case len(line)+len(bytes.TrimRight(part, "\r\n")) > l.max:
			line, tooLong = append(line, part...)[:min(tooLongPrefix, l.max)], true
			line = bytes.Clone(line) // let go of the rest
		default:
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
		case tooLong && (err == nil || err == io.EOF):
			return line, ErrLineTooLong
		case err == nil, err == io.EOF && len(line) > 0:
			return trimLineEnd(line), nil
		default:
			return nil, err
		}
	}
}

func trimLineEnd(line []byte) []byte {
	line = bytes.TrimSuffix(line, []byte("\n"))
	return bytes.TrimSuffix(line, []byte("\r"))
}

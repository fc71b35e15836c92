package cassette

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"sync"
)

// The largest cassette that is read or written, and the longest line in it, in bytes before they are compressed, and how
// many lines it may have.
const (
	maxFile  = 512 << 20
	maxLine  = 128 << 20
	maxCount = 4 << 20
)

// lineReader reads the lines of a cassette.
type lineReader struct {
	in     *bufio.Reader
	long   []byte // the line, if it is longer than the buffer of in
	number int    // of the last line
	read   int64  // bytes of all lines so far
}

// maxBuffer is how much of a file is read at a time.
const maxBuffer = 64 << 10

// buffers are those of readers that were released.
var buffers = sync.Pool{New: func() any { return bufio.NewReaderSize(nil, maxBuffer) }}

// newLineReader returns a reader of the lines of a file.
func newLineReader(r io.Reader) *lineReader {
	in := buffers.Get().(*bufio.Reader)
	in.Reset(r)
	return &lineReader{in: in}
}

// release gives the buffer, and with it the last line, to others.
func (l *lineReader) release() {
	l.in.Reset(nil)
	buffers.Put(l.in)
	l.in = nil
}

// next returns the next line with its line break, if it has one; the caller may change it until the next call. After the
// last line the error is io.EOF.
func (l *lineReader) next() ([]byte, error) {
	line, err := l.in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) && len(l.long) <= maxLine {
			l.long = append(l.long, line...)
			line, err = l.in.ReadSlice('\n')
		}
		l.long = append(l.long, line...)
		line = l.long
	}
	if len(line) == 0 {
		return nil, err
	}
	l.number++
	l.read += int64(len(line))
	switch {
	case len(line) > maxLine:
		return nil, &CorruptError{Line: l.number, Reason: fmt.Sprintf("the line has more than the %d bytes that one may have", maxLine)}
	case l.read > maxFile:
		return nil, &CorruptError{Line: l.number, Reason: fmt.Sprintf("the cassette has more than the %d bytes that one may have", maxFile)}
	case l.number > maxCount:
		return nil, &CorruptError{Line: l.number, Reason: fmt.Sprintf("the cassette has more than the %d lines that one may have", maxCount)}
	case errors.Is(err, io.EOF):
		return line, nil
	}
	return line, err
}

// last tells whether there is nothing behind the last line. It may write over that line.
func (l *lineReader) last() bool {
	_, err := l.in.Peek(1)
	return errors.Is(err, io.EOF)
}

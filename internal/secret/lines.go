package secret

import (
	"bytes"
	"io"
)

// Lines masks lines of JSON, each by [Set.JSON], and writes them whole. It is not safe for concurrent use.
type Lines struct {
	set  *Set
	w    io.Writer
	line []byte
	walk walk
	// long masks, as text, the rest of a line of more than maxLine bytes; nil: there is none.
	long *Writer
	err  error
}

// maxLine bounds the lines that are masked as JSON, in bytes.
const maxLine = 16 << 20

// Lines returns a writer that writes to w the lines it is given, masked. Close it, or a last line without a newline is
// missing.
func (s *Set) Lines(w io.Writer) *Lines { return &Lines{set: s, w: w} }

// Write takes p. An error of the underlying writer is final.
func (l *Lines) Write(p []byte) (int, error) {
	rest := p
	for len(rest) > 0 && l.err == nil {
		size := bytes.IndexByte(rest, '\n') + 1
		if size == 0 {
			size = min(len(rest), maxLine)
		}
		l.take(rest[:size])
		rest = rest[size:]
	}
	if l.err != nil {
		return 0, l.err
	}
	return len(p), nil
}

// take takes a part of one line.
func (l *Lines) take(part []byte) {
	ends := part[len(part)-1] == '\n'
	switch {
	case l.long != nil:
		_, l.err = l.long.Write(part)
	case ends && len(l.line) == 0:
		l.write(part)
		return
	case len(l.line)+len(part) > maxLine:
		l.long = l.set.Writer(l.w)
		if _, l.err = l.long.Write(l.line); l.err == nil {
			_, l.err = l.long.Write(part)
		}
		l.line = nil
	default:
		l.line = append(l.line, part...)
	}
	if ends {
		l.end()
	}
}

// end writes what there is of a line.
func (l *Lines) end() {
	switch {
	case l.err != nil:
	case l.long != nil:
		l.err = l.long.Close()
		l.long = nil
	case len(l.line) > 0:
		l.write(l.line)
		l.line = l.line[:0]
	}
}

// write writes a line.
func (l *Lines) write(line []byte) {
	_, l.err = l.w.Write(l.walk.mask(l.set.matcher(), line))
}

// Close writes a last line without a newline. It leaves the underlying writer open.
func (l *Lines) Close() error {
	l.end()
	return l.err
}

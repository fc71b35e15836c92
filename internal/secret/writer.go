package secret

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// Writer masks what is written through it, however that is cut in pieces: what it writes is what [Set.Bytes] makes of the
// whole. It holds back what may be the beginning of a secret, which is never as long as the longest form of a secret.
// It is not safe for concurrent use.
type Writer struct {
	set     *Set
	w       io.Writer
	held    []byte // context and what is not settled
	context int    // how much of held has been written, which tells where words begin
	cover   cover
	out     []byte
	err     error
}

// Writer returns a writer that writes to w what it is given, masked. Close it, or the end may be missing.
func (s *Set) Writer(w io.Writer) *Writer { return &Writer{set: s, w: w} }

// Write takes p. An error of the underlying writer is final.
func (w *Writer) Write(p []byte) (int, error) {
	taken := 0
	for taken < len(p) && w.err == nil { // by pieces, so that what is buffered does not grow with p
		n := min(len(p)-taken, pieceSize)
		w.held = append(w.held, p[taken:taken+n]...)
		w.advance(false)
		taken += n
	}
	if w.err != nil {
		return 0, w.err
	}
	return taken, nil
}

const pieceSize = 64 << 10

// Flush writes what is held back. A secret of which only a part was written before is not found: flush at the end of a
// message, not in it.
func (w *Writer) Flush() error {
	w.advance(true)
	w.held, w.context, w.cover = w.held[:0], 0, cover{}
	return w.err
}

// Close writes what is held back. It leaves the underlying writer open.
func (w *Writer) Close() error { return w.Flush() }

// advance writes what is settled.
func (w *Writer) advance(final bool) {
	if w.err != nil || len(w.held) == w.context {
		return
	}
	m := w.set.matcher()
	if m == nil {
		_, w.err = w.w.Write(w.held)
		w.held = w.held[:0]
		return
	}
	r := m.scan(w.held, w.context, final)
	w.out = w.cover.render(w.out[:0], w.held, w.context, r)
	if len(w.out) > 0 {
		_, w.err = w.w.Write(w.out)
	}
	keep := max(0, r.settled-contextSize)
	w.context = r.settled - keep
	w.held = append(w.held[:0], w.held[keep:]...)
}

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

// WriteFile writes data, masked, in the place of what is at path, which survives a concurrent write or the end of the
// process as one or the other, see [disk.Put]. The file has exactly that mode. Files named .json and .jsonl are masked by
// [Set.JSON].
func (s *Set) WriteFile(path string, data []byte, perm fs.FileMode) error {
	switch filepath.Ext(path) {
	case ".json", ".jsonl":
		data = s.JSON(data)
	default:
		data = s.Bytes(data)
	}
	return s.put(path, perm, func(w io.Writer) error {
		_, err := w.Write(data)
		return err
	})
}

// WriteLines is [Set.WriteFile] for lines of JSON, masked as [Set.Lines] does, which write writes one after the other: what
// is large need never be in memory as a whole.
func (s *Set) WriteLines(path string, perm fs.FileMode, write func(io.Writer) error) error {
	return s.put(path, perm, func(w io.Writer) error {
		out := outs.Get().(*bufio.Writer)
		out.Reset(w)
		defer func() {
			out.Reset(nil)
			outs.Put(out)
		}()
		lines := s.Lines(out)
		return errors.Join(write(lines), lines.Close(), out.Flush())
	})
}

// outs are buffers for files.
var outs = sync.Pool{New: func() any { return bufio.NewWriterSize(nil, pieceSize) }}

func (s *Set) put(path string, perm fs.FileMode, write func(io.Writer) error) error {
	if err := disk.Put(path, perm, write); err != nil {
		return fmt.Errorf("write %s: %w", s.String(path), bare(err))
	}
	return nil
}

// bare returns an error of the file system without its paths, which may hold a secret.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	return err
}

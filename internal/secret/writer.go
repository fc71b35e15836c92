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

// Writer masks the text that is written to it, however it is cut into pieces: the result is that of [Set.Bytes] for the
// whole text. It holds back bytes that may begin a secret, always fewer than the longest form of a secret has. It is
// not safe for concurrent use.
type Writer struct {
	set     *Set
	w       io.Writer
	buf     []byte // context and bytes that are not settled
	context int    // the length of the context: bytes that were written, which tell where words begin
	cover   cover
	out     []byte
	err     error
}

// Writer returns a writer that masks text and writes it to w. The caller must close it, or the end may be missing.
func (s *Set) Writer(w io.Writer) *Writer { return &Writer{set: s, w: w} }

// Write masks p. An error of the underlying writer is final.
func (w *Writer) Write(p []byte) (int, error) {
	taken := 0
	for taken < len(p) && w.err == nil { // in pieces, so that the buffer does not grow with p
		n := min(len(p)-taken, pieceSize)
		w.buf = append(w.buf, p[taken:taken+n]...)
		w.advance(false)
		taken += n
	}
	if w.err != nil {
		return 0, w.err
	}
	return taken, nil
}

const pieceSize = 64 << 10

// Flush writes the bytes that were held back. A secret that is only partly written by then is not found, so call it
// only at the end of a message.
func (w *Writer) Flush() error {
	w.advance(true)
	w.buf, w.context, w.cover = w.buf[:0], 0, cover{}
	return w.err
}

// Close writes the bytes that were held back. It leaves the underlying writer open.
func (w *Writer) Close() error { return w.Flush() }

// advance writes the settled bytes.
func (w *Writer) advance(final bool) {
	if w.err != nil || len(w.buf) == w.context {
		return
	}
	m := w.set.matcher()
	if m == nil {
		_, w.err = w.w.Write(w.buf)
		w.buf = w.buf[:0]
		return
	}
	r := m.scan(w.buf, w.context, final)
	w.out = w.cover.render(w.out[:0], w.buf, w.context, r)
	if len(w.out) > 0 {
		_, w.err = w.w.Write(w.out)
	}
	keep := max(0, r.settled-contextSize)
	w.context = r.settled - keep
	w.buf = append(w.buf[:0], w.buf[keep:]...)
}

// Lines masks lines of JSON, each by [Set.JSON], and writes each as a whole. It is not safe for concurrent use.
type Lines struct {
	set  *Set
	w    io.Writer
	line []byte
	walk walk
	// long masks a line of more than maxLine bytes as text. It is nil in other lines.
	long *Writer
	err  error
}

// maxLine is the largest size of a line, in bytes, that is masked as JSON.
const maxLine = 16 << 20

// Lines returns a writer that masks lines and writes them to w. The caller must close it, or a last line without a
// newline is missing.
func (s *Set) Lines(w io.Writer) *Lines { return &Lines{set: s, w: w} }

// Write masks p. An error of the underlying writer is final.
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

// take adds a part of a line.
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

// end writes the line that was added.
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

// WriteFile masks data and replaces the file at path with it. After a concurrent write or the end of the process the
// file has either the old or the new content, see [disk.Put]. The file gets exactly the mode perm. Data for names with
// .json and .jsonl is masked by [Set.JSON].
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

// WriteLines is [Set.WriteFile] for lines of JSON, which write writes one after the other and which are masked as by
// [Set.Lines]. So large files are never in memory as a whole.
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

// bare returns an error of the file system without its paths, which may contain a secret.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	if e, ok := errors.AsType[*os.LinkError](err); ok {
		return fmt.Errorf("%s: %w", e.Op, e.Err)
	}
	return err
}

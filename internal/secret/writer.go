package secret

import "io"

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

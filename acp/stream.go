package acp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"
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

// frameOverhead is what a waiting frame costs beside its bytes.
const frameOverhead = 256

// backlog is the queue from the reader, which must not wait for handlers, to the dispatcher. It is bounded in bytes.
type backlog struct {
	mu      sync.Mutex
	changed sync.Cond
	queue   []received
	bytes   int
	max     int
	closed  bool
	busy    bool // the message popped last is still being handled
}

// received is a message waiting to be handled.
type received struct {
	message Message
	size    int // of its line
}

func newBacklog(limit int) *backlog {
	b := &backlog{max: limit}
	b.changed.L = &b.mu
	return b
}

// push adds a message. It waits while the backlog is full, but a backlog that is empty takes a message of any size.
// Once the backlog is closed, push does nothing.
func (b *backlog) push(r received) {
	b.mu.Lock()
	defer b.mu.Unlock()
	size := r.size + frameOverhead
	for !b.closed && len(b.queue) > 0 && b.bytes+size > b.max {
		b.changed.Wait()
	}
	if b.closed {
		return
	}
	b.queue = append(b.queue, r)
	b.bytes += size
	b.changed.Broadcast()
}

// pop waits for the next message and removes it. It returns false when the backlog is closed and empty.
func (b *backlog) pop() (received, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.busy = false
	for len(b.queue) == 0 && !b.closed {
		b.changed.Wait()
	}
	if len(b.queue) == 0 {
		return received{}, false
	}
	r := b.queue[0]
	b.queue[0] = received{}
	b.queue = b.queue[1:]
	b.bytes -= r.size + frameOverhead
	b.busy = true
	b.changed.Broadcast()
	return r, true
}

// close makes pop return false once the queue is empty.
func (b *backlog) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.changed.Broadcast()
}

// discard closes the backlog and drops what is in it.
func (b *backlog) discard() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.queue, b.bytes = nil, 0
	b.changed.Broadcast()
}

// idle reports whether nothing is waiting or being handled.
func (b *backlog) idle() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.queue) == 0 && !b.busy
}

// writeChunk is how much is written at a time; the agent has the write timeout to read that much.
const writeChunk = 64 << 10

// writer writes lines one after the other and notices when they are not read.
type writer struct {
	w       io.Writer
	timeout time.Duration
	stalled func()       // called once if a chunk is not taken within timeout
	record  func([]byte) // called with each line before it is written
	queue   chan outgoing
	stop    chan struct{}
	stopped sync.Once
}

type outgoing struct {
	line []byte
	done chan error // buffered
}

// send writes a line and its line end, after those sent before. When it returns errStopped or the context's error, the
// line may have been written anyway.
func (w *writer) send(ctx context.Context, line []byte) error {
	o := outgoing{line: line, done: make(chan error, 1)}
	select {
	case w.queue <- o:
	case <-w.stop:
		return errStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	select {
	case err := <-o.done:
		return err
	case <-w.stop:
		return errStopped
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// run writes what is sent until close.
func (w *writer) run() {
	for {
		select {
		case o := <-w.queue:
			w.record(o.line)
			o.done <- w.write(append(o.line, '\n'))
		case <-w.stop:
			return
		}
	}
}

func (w *writer) write(line []byte) error {
	stall := time.AfterFunc(w.timeout, w.stalled)
	defer stall.Stop()
	for len(line) > 0 {
		stall.Reset(w.timeout)
		n, err := w.w.Write(line[:min(len(line), writeChunk)])
		if err != nil {
			return err
		}
		line = line[n:]
	}
	return nil
}

// close makes senders return and closes the underlying writer if it can be closed, which ends a write that hangs.
func (w *writer) close() (err error) {
	w.stopped.Do(func() {
		close(w.stop)
		if c, ok := w.w.(io.Closer); ok {
			err = c.Close()
		}
	})
	return err
}

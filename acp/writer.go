package acp

import (
	"context"
	"io"
	"sync"
	"time"
)

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

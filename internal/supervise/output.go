package supervise

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

const (
	runningBuffer  = 64 << 10 // bytes held for the reader while the child runs; more block the child
	drainingBuffer = 1 << 20  // bytes held while the child is being stopped; more are dropped
)

// ErrDropped is what [Process.Stdout] ends with when output was dropped because it was not read while the child was
// being stopped.
var ErrDropped = errors.New("output of the child was dropped: nobody read it while the child was being stopped")

// output hands the child's output to a reader, and goes on taking it when there is no reader.
type output struct {
	file *os.File

	mu       sync.Mutex
	changed  sync.Cond // buf, draining or err
	buf      []byte
	draining bool
	dropped  bool
	err      error // why nothing more comes into buf
}

func newOutput(file *os.File) *output {
	o := &output{file: file}
	o.changed.L = &o.mu
	return o
}

// pump fills the buffer until the pipe ends, and closes it.
func (o *output) pump() {
	defer o.file.Close()
	chunk := make([]byte, 32<<10)
	for {
		n, err := o.file.Read(chunk)
		o.mu.Lock()
		o.put(chunk[:n])
		o.err = err
		o.changed.Broadcast()
		o.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// put adds data to the buffer, once there is room. o.mu is held.
func (o *output) put(data []byte) {
	for len(o.buf) >= runningBuffer && !o.draining {
		o.changed.Wait()
	}
	if len(o.buf)+len(data) > drainingBuffer {
		o.dropped = true
	}
	if o.dropped { // all that follows too: the reader must not see text with a hole in it
		return
	}
	o.buf = append(o.buf, data...)
}

// drain lets the child write on, reader or not.
func (o *output) drain() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.draining = true
	o.changed.Broadcast()
}

// end is called when no process should hold the pipe any more; it lets pump take what is left in the pipe, for at most d.
func (o *output) end(d time.Duration) {
	o.drain()
	_ = o.file.SetReadDeadline(time.Now().Add(d)) // fails if pump has closed it already
}

// Read implements [io.Reader].
func (o *output) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.buf) == 0 && o.err == nil {
		o.changed.Wait()
	}
	if len(o.buf) > 0 {
		n := copy(p, o.buf)
		o.buf = o.buf[n:]
		o.changed.Broadcast()
		return n, nil
	}
	switch {
	case o.dropped:
		return 0, ErrDropped
	case errors.Is(o.err, os.ErrDeadlineExceeded):
		return 0, io.ErrUnexpectedEOF
	default:
		return 0, o.err
	}
}

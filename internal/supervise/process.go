package supervise

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"
)

// pipeDelay is how long the pipes of a child may stay open once its tree is gone. They close at once unless a process
// that escaped holds them.
const pipeDelay = 2 * time.Second

// Exit is how a child ended. The zero value is success.
type Exit struct {
	// Code is the exit code, -1 if a signal ended the child or the code is unknown.
	Code int
	// Signal is the name of the signal that ended the child, such as "SIGKILL", or empty.
	Signal string
}

func (e Exit) String() string {
	if e.Signal != "" {
		return "killed by " + e.Signal
	}
	return fmt.Sprintf("exit code %d", e.Code)
}

// Process is a started child with all its descendants. Its methods may be called from many goroutines.
type Process struct {
	// Stdin is the child's standard input, nil unless [Command.PipeStdin] asked for it. It is an [os.File] with write
	// deadlines. Stop closes it, and so does the end of the child.
	Stdin io.WriteCloser
	// Stdout is the child's standard output, nil unless [Command.PipeStdout] asked for it. It need not be closed, and
	// after Wait it still has what the child wrote last. While the child runs, it blocks the child's writes if nobody
	// reads it. From Stop on it is drained into memory in the background, and unread output past 1 MiB is dropped: Read
	// then ends with [ErrDropped] in place of io.EOF.
	Stdout io.Reader

	tree   *tree
	stdout *output // the value of Stdout, or nil
	grace  time.Duration
	term   sync.Once

	gone chan struct{} // closed when the tree is gone and the streams are done
	done chan struct{} // closed when no goroutine of the process is left
	exit Exit
	err  error
}

// Start starts the command. When ctx ends, the process is stopped as by Stop, so it may outlive a deadline by twice the
// grace. Start returns an error if the program or the directory does not exist or may not be used.
func Start(ctx context.Context, c Command) (*Process, error) {
	p, err := start(ctx, &c)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c.Path, err)
	}
	return p, nil
}

func start(ctx context.Context, c *Command) (*Process, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	path, err := c.Program()
	if err != nil {
		return nil, err
	}
	p := &Process{grace: c.Grace, gone: make(chan struct{}), done: make(chan struct{})}
	if p.grace == 0 {
		p.grace = DefaultGrace
	}
	cmd := &exec.Cmd{Stdin: c.Stdin, Stdout: c.Stdout, Stderr: c.Stderr, WaitDelay: pipeDelay}
	closeTheirs, err := p.pipe(cmd, c)
	if err == nil {
		p.tree, err = startTree(cmd, path, c)
	}
	closeTheirs()
	if err != nil {
		p.closeOurs()
		return nil, err
	}
	go p.run(ctx)
	return p, nil
}

// pipe makes the pipes that the command asks for. The caller must call closeTheirs once the child has its ends, and
// also after an error.
func (p *Process) pipe(cmd *exec.Cmd, c *Command) (closeTheirs func(), err error) {
	var theirs []*os.File
	closeTheirs = func() {
		for _, f := range theirs {
			f.Close()
		}
	}
	if c.PipeStdin {
		r, w, err := os.Pipe()
		if err != nil {
			return closeTheirs, err
		}
		theirs = append(theirs, r)
		cmd.Stdin, p.Stdin = r, w
	}
	if c.PipeStdout {
		r, w, err := os.Pipe()
		if err != nil {
			return closeTheirs, err
		}
		theirs = append(theirs, w)
		p.stdout = newOutput(r)
		cmd.Stdout, p.Stdout = w, p.stdout
	}
	return closeTheirs, nil
}

// closeOurs closes our ends of the pipes of a child that did not start.
func (p *Process) closeOurs() {
	if p.Stdin != nil {
		p.Stdin.Close()
	}
	if p.stdout != nil {
		p.stdout.file.Close()
	}
}

// run waits for the end of the process and stops it when ctx ends.
func (p *Process) run(ctx context.Context) {
	var streams, watch sync.WaitGroup
	if p.stdout != nil {
		streams.Go(p.stdout.pump)
	}
	var cause error
	watch.Go(func() {
		select {
		case <-ctx.Done():
			cause = context.Cause(ctx)
			p.stop(context.Background())
		case <-p.gone:
		}
	})
	p.exit, p.err = p.tree.wait()
	if p.Stdin != nil {
		p.Stdin.Close()
	}
	if p.stdout != nil {
		p.stdout.end(pipeDelay)
	}
	streams.Wait()
	close(p.gone)
	watch.Wait()
	if cause != nil && p.err == nil {
		p.err = fmt.Errorf("stopped: %w", cause)
	}
	close(p.done)
}

// Wait returns when the child and all its descendants have ended; those that the child left behind are killed. It may
// be called any number of times.
//
// An error means that the child did not end by itself or not cleanly: the context ended, a stream could not be copied,
// a process could not be killed, or the supervisor was killed. Then Exit is what is known, with code -1 if nothing is.
func (p *Process) Wait() (Exit, error) {
	<-p.done
	return p.exit, p.err
}

// Usage returns what the process used of the machine with all its descendants, when Wait would return. It is known only
// on Linux.
func (p *Process) Usage() Usage {
	<-p.done
	return p.tree.used
}

// PID returns the child's process id, or 0 if the child is in an enclosure, where the id has a meaning only inside.
func (p *Process) PID() int { return p.tree.childID() }

// Done is closed when Wait would return.
func (p *Process) Done() <-chan struct{} { return p.done }

// Stop ends the process and returns as Wait does. It closes the child's standard input, if [Process.Stdin] is it, and
// waits for the grace. Then it sends SIGTERM to the child's process group and waits for the grace. Then it kills the
// whole tree. When ctx ends, it goes straight to the kill.
func (p *Process) Stop(ctx context.Context) (Exit, error) {
	p.stop(ctx)
	return p.Wait()
}

// stop returns when the tree is gone.
func (p *Process) stop(ctx context.Context) {
	if p.stdout != nil {
		p.stdout.drain()
	}
	if p.Stdin != nil {
		p.Stdin.Close()
		if p.isGone(ctx, p.grace) {
			return
		}
	}
	if ctx.Err() == nil {
		p.term.Do(p.tree.terminate)
		if p.isGone(ctx, p.grace) {
			return
		}
	}
	p.tree.kill()
	<-p.gone
}

// Kill kills the whole tree and returns as Wait does.
func (p *Process) Kill() (Exit, error) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return p.Stop(ctx)
}

// isGone waits for the end of the tree, but not past d or the end of ctx.
func (p *Process) isGone(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-p.gone:
		return true
	case <-ctx.Done():
	case <-timer.C:
	}
	return false
}

const (
	runningBuffer  = 64 << 10 // bytes kept for the reader while the child runs; more block the child
	drainingBuffer = 1 << 20  // bytes kept while the child is being stopped; more are dropped
)

// ErrDropped is the error with which [Process.Stdout] ends if output was dropped, because nobody read it while the
// child was being stopped.
var ErrDropped = errors.New("output of the child was dropped: nobody read it while the child was being stopped")

// output passes the child's output to a reader, and keeps taking it when there is no reader.
type output struct {
	file *os.File

	mu       sync.Mutex
	changed  sync.Cond // buf, draining or err has changed
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
	if o.dropped { // drop all that follows, too: the reader must not see text with a gap
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

// end is called when no process should hold the pipe any more. It lets pump take what is left in it, for at most d.
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

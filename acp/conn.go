package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
)

// endWait is how long the end of the connection is waited for when the agent cannot be written to.
const endWait = time.Second

// maxServed is how many requests of the other side may be served at a time; further ones are answered with an error.
const maxServed = 1024

var (
	errStopped     = errors.New("acp: the connection has ended")
	errTooManyOpen = &Error{Code: CodeInternal, Message: fmt.Sprintf("more than %d requests at a time", maxServed)}
)

// conn is one JSON-RPC connection. It matches responses with calls, and dispatches requests and notifications.
//
// Its goroutines are the reader, which records frames and puts messages into the backlog; the dispatcher, which takes
// them out one at a time, handles notifications, completes calls and starts serving requests; the writer; and one for
// each request that is being served.
type conn struct {
	lines   *lineReader
	backlog *backlog
	out     *writer
	notify  func(Message)                               // handles a notification
	serve   func(context.Context, Message) (any, error) // answers a request
	tap     func(Frame)                                 // may be nil
	// panicked receives the panics of the functions above; it may be nil.
	panicked func(value any, stack []byte)
	taps     sync.Mutex // held while tap runs

	context context.Context // of requests being served
	cancel  context.CancelFunc
	ended   <-chan struct{} // closed when the connection has ended
	done    chan struct{}   // closed when all goroutines are done

	mu      sync.Mutex
	lastID  int64
	calls   map[ID]*call
	serving map[ID]context.CancelFunc
	failure error // why the connection ended, nil while it has not
	input   error // why reading ended, nil while it has not
	stats   Stats
	served  sync.WaitGroup
}

// call is a request to the other side that waits for its response.
type call struct {
	id     ID
	method string
	accept func(result json.RawMessage) error
	done   chan error // buffered
}

// start starts the goroutines of a connection whose fields notify, serve and tap are set.
func (c *conn) start(r io.Reader, w io.Writer, limits ClientConfig) {
	c.lines = newLineReader(r, limits.MaxLine)
	c.backlog = newBacklog(limits.MaxBacklog)
	c.out = &writer{
		w: w, timeout: limits.WriteTimeout, queue: make(chan outgoing), stop: make(chan struct{}),
		stalled: func() { c.fail(fmt.Errorf("%w: nothing read for %v", ErrStalled, limits.WriteTimeout)) },
		record:  func(line []byte) { c.record(Frame{Time: time.Now(), Direction: ToAgent, Raw: line}) },
	}
	c.calls = make(map[ID]*call)
	c.serving = make(map[ID]context.CancelFunc)
	c.context, c.cancel = context.WithCancel(context.Background())
	c.ended = c.context.Done()
	c.done = make(chan struct{})

	var loops sync.WaitGroup
	loops.Go(c.out.run)
	loops.Go(c.read)
	loops.Go(c.dispatch)
	go func() {
		loops.Wait()
		c.served.Wait()
		close(c.done)
	}()
}

// read records every frame and puts messages into the backlog. It goes on to the end of input whatever happens, so that
// the agent is never blocked by its output and its last words are on record.
func (c *conn) read() {
	for {
		line, err := c.lines.next()
		now := time.Now()
		if err != nil && !errors.Is(err, ErrLineTooLong) {
			if err == io.EOF {
				err = ErrEnded
			} else {
				err = fmt.Errorf("acp: read from the agent: %w", err)
			}
			c.endInput(err)
			return
		}
		var m Message
		if err == nil {
			m, err = ParseMessage(line)
		}
		c.count(err)
		c.record(Frame{Time: now, Direction: ToClient, Raw: line, Err: err})
		switch {
		case err == nil:
			c.backlog.push(received{message: m, size: len(line)})
		case errors.Is(err, ErrLineTooLong):
			c.endInput(fmt.Errorf("%w: more than %d bytes", err, c.lines.max))
		}
	}
}

// endInput makes the connection end for that reason once everything received has been handled.
func (c *conn) endInput(reason error) {
	c.mu.Lock()
	if c.input == nil {
		c.input = reason
	}
	c.mu.Unlock()
	c.backlog.close()
}

func (c *conn) count(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Frames++
	switch {
	case errors.Is(err, ErrBlank):
		c.stats.Blank++
	case err != nil:
		c.stats.Malformed++
	}
}

func (c *conn) record(f Frame) {
	if c.tap == nil {
		return
	}
	defer c.recoverPanic("the tap")
	c.taps.Lock()
	defer c.taps.Unlock()
	c.tap(f)
}

// recoverPanic is deferred around a handler whose panic cannot be answered: the panic ends the connection instead of
// the process.
func (c *conn) recoverPanic(handler string) {
	if p := recover(); p != nil {
		c.fail(fmt.Errorf("acp: %s panicked: %v\n%s", handler, p, c.reportPanic(p)))
	}
}

// reportPanic passes on what a handler panicked with and returns the stack, which must still be that of the panic.
func (c *conn) reportPanic(value any) (stack []byte) {
	stack = debug.Stack()
	if c.panicked != nil {
		c.panicked(value, stack)
	}
	return stack
}

// dispatch handles the messages of the backlog in the order of the wire. A request is served concurrently, but it is
// started only after everything before it was handled.
func (c *conn) dispatch() {
	for {
		r, ok := c.backlog.pop()
		if !ok {
			break
		}
		switch m := r.message; {
		case m.IsResponse():
			c.complete(m)
		case m.IsRequest():
			c.accept(m)
		case m.Method == MethodCancelRequest:
			c.cancelServed(m)
		default:
			c.notify(m)
		}
	}
	c.mu.Lock()
	reason := c.input
	c.mu.Unlock()
	c.fail(reason)
}

// complete gives a response to the call that waits for it.
func (c *conn) complete(m Message) {
	c.mu.Lock()
	waiting, ok := c.calls[m.ID]
	delete(c.calls, m.ID)
	if !ok {
		c.stats.Unmatched++
	}
	c.mu.Unlock()
	switch {
	case !ok:
	case m.Error != nil:
		waiting.done <- fmt.Errorf("acp: %s: %w", waiting.method, m.Error)
	default:
		waiting.done <- waiting.accept(m.Result)
	}
}

// accept starts to serve a request.
func (c *conn) accept(m Message) {
	c.mu.Lock()
	if len(c.serving) >= maxServed {
		c.mu.Unlock()
		c.respond(m.ID, nil, errTooManyOpen)
		return
	}
	ctx, cancel := context.WithCancel(c.context)
	c.serving[m.ID] = cancel
	c.mu.Unlock()
	c.served.Go(func() {
		result, err := guard(c, m.Method, func() (any, error) { return c.serve(ctx, m) })
		cancel()
		c.mu.Lock()
		delete(c.serving, m.ID)
		c.mu.Unlock()
		c.respond(m.ID, result, err)
	})
}

// guard runs the handler of a request. A panic is an error of that request.
func guard[T any](c *conn, method string, handle func() (T, error)) (result T, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.reportPanic(p)
			err = &Error{Code: CodeInternal, Message: fmt.Sprintf("handler of %s panicked: %v", method, p)}
		}
	}()
	return handle()
}

// cancelServed ends the context of a request whose answer the other side no longer needs. The request is answered all
// the same.
func (c *conn) cancelServed(m Message) {
	var n CancelRequestNotification
	if err := unmarshalValid(m.Params, &n); err != nil {
		c.ignore()
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if cancel, ok := c.serving[n.RequestID]; ok {
		cancel()
	}
}

// ignore counts a notification without a handler.
func (c *conn) ignore() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stats.Ignored++
}

// respond answers a request of the other side. A failure cannot be reported: the connection has ended, or the other
// side has gone.
func (c *conn) respond(id ID, result any, err error) {
	response := Message{Version: "2.0", ID: id}
	if err == nil {
		response.Result, err = marshal(result)
	}
	if err != nil {
		response.Result, response.Error = nil, wireError(err)
	}
	_ = c.send(context.Background(), response) // bounded by the write timeout
}

// wireError returns the error to send for a handler's error.
func wireError(err error) *Error {
	e, ok := errors.AsType[*Error](err)
	switch {
	case ok:
		return e
	case errors.Is(err, fs.ErrNotExist):
		return &Error{Code: CodeResourceNotFound, Message: "Resource not found"}
	case errors.Is(err, context.Canceled):
		return &Error{Code: CodeRequestCancelled, Message: "Request cancelled"}
	default:
		return &Error{Code: CodeInternal, Message: err.Error()}
	}
}

// send writes a message and returns when it is written.
func (c *conn) send(ctx context.Context, m Message) error {
	line, err := marshal(m)
	if err != nil {
		return err
	}
	return c.out.send(ctx, line)
}

// sendNotification sends a notification.
func (c *conn) sendNotification(ctx context.Context, method string, params any) error {
	raw, err := marshal(params)
	if err != nil {
		return err
	}
	return c.send(ctx, Message{Version: "2.0", Method: method, Params: raw})
}

// begin sends a request. When its result arrives, accept is called by the dispatcher, before any later message is
// handled; it must not wait. The call's done then receives accept's error, or why there is no result. If ctx ends
// first, begin returns, though the request may not have been written yet.
func (c *conn) begin(
	ctx context.Context, method string, params any, accept func(json.RawMessage) error,
) (*call, error) {
	raw, err := marshal(params)
	if err != nil {
		return nil, fmt.Errorf("acp: %s: %w", method, err)
	}
	c.mu.Lock()
	if c.failure != nil {
		defer c.mu.Unlock()
		return nil, fmt.Errorf("acp: %s: %w", method, c.failure)
	}
	c.lastID++
	pending := &call{
		id: ID(strconv.FormatInt(c.lastID, 10)), method: method, accept: accept, done: make(chan error, 1),
	}
	c.calls[pending.id] = pending
	c.mu.Unlock()
	err = c.send(ctx, Message{Version: "2.0", ID: pending.id, Method: method, Params: raw})
	if err == nil || errors.Is(err, errStopped) {
		return pending, nil
	}
	// An agent that ends is no longer written to before its last output is read, which says more than a broken pipe.
	select {
	case <-c.ended:
	case <-ctx.Done():
	case <-time.After(endWait):
	}
	if ctx.Err() == nil && c.abandon(pending) {
		return nil, fmt.Errorf("acp: send %s: %w", method, err)
	}
	return pending, nil // done has the response, or why the connection ended
}

// abandon forgets a call: its response will be unmatched. It reports whether the call was open.
func (c *conn) abandon(pending *call) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, open := c.calls[pending.id]
	delete(c.calls, pending.id)
	return open
}

// call sends a request and waits for its result.
func (c *conn) call(ctx context.Context, method string, params any, accept func(json.RawMessage) error) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("acp: %s: %w", method, context.Cause(ctx))
	}
	pending, err := c.begin(ctx, method, params, accept)
	if err != nil {
		return err
	}
	select {
	case err := <-pending.done:
		return err
	case <-ctx.Done():
		c.abandon(pending)
		return fmt.Errorf("acp: %s: %w", method, context.Cause(ctx))
	}
}

// err returns why the connection ended, nil while it has not.
func (c *conn) err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// fail ends the connection: calls return the reason, handlers' contexts end, the agent's input is closed. Only the
// first reason counts. It returns the error of closing the agent's input.
func (c *conn) fail(reason error) error {
	c.mu.Lock()
	if c.failure != nil {
		c.mu.Unlock()
		return nil
	}
	c.failure = reason
	calls := c.calls
	c.calls = make(map[ID]*call)
	c.mu.Unlock()
	c.backlog.discard()
	c.cancel()
	for _, pending := range calls {
		pending.done <- fmt.Errorf("acp: %s: %w", pending.method, reason)
	}
	return c.out.close()
}

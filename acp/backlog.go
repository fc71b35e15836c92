package acp

import "sync"

// frameOverhead is what a waiting frame costs beside its bytes.
const frameOverhead = 256

// backlog is the queue between the reader, which must not wait for handlers, and the dispatcher. It is bounded in bytes.
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

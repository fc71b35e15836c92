package mcpproxy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

const (
	// exitWait is how long a server that closed its input or output has to end by itself before it is ended.
	exitWait = time.Second
	// maxSaid is how much of the end of what a server writes is kept for errors, in bytes.
	maxSaid = 2 << 10
)

// realServer is a process of the server for which a conversation stands.
type realServer struct {
	process *supervise.Process // nil: it could not be started
	conn    mcp.Connection
	// said and sent are the ends of its stderr and its stdout.
	said, sent excerpt.Tail
	listening  sync.WaitGroup
	failed     sync.Once
	late       *time.Timer // runs from the first request to the first answer; under the conversation's lock
	answers    bool        // it has answered; under the conversation's lock
}

// startReal starts the server's process.
func (c *conversation) startReal() {
	r := &realServer{said: excerpt.Tail{Limit: maxSaid}, sent: excerpt.Tail{Limit: maxSaid}}
	c.real = r
	ctx := context.WithoutCancel(c.proxy.ctx) // it is stopped when the conversation ends
	process, err := c.proxy.config.Start(ctx, supervise.Command{
		Path: c.server.Command[0], Args: c.server.Command, PipeStdin: true, PipeStdout: true, Stderr: &r.said,
	})
	if err != nil {
		c.serverFailed(fmt.Errorf("cannot be started: %w", err))
		return
	}
	r.process = process
	out := io.TeeReader(process.Stdout, &r.sent)
	r.conn, err = (&mcp.IOTransport{Reader: io.NopCloser(out), Writer: process.Stdin}).Connect(ctx)
	if err != nil {
		c.serverFailed(err)
		return
	}
	r.listening.Go(func() { c.proxy.survive(c.readServer) })
}

// readServer handles what the server sends, up to its end.
func (c *conversation) readServer() {
	for {
		m, err := c.real.conn.Read(context.Background())
		if err != nil {
			c.serverFailed(c.readError(err))
			return
		}
		switch m := m.(type) {
		case *jsonrpc.Response:
			c.inTime()
			c.answer(m)
		case *jsonrpc.Request:
			if m.IsCall() {
				c.refuse(m)
			} else {
				c.write(m)
			}
		}
	}
}

// readError explains why nothing more can be read from the server.
func (c *conversation) readError(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return c.exitOr(errors.New("closed its output but did not exit"))
	}
	sent, cut := c.real.sent.Text(true)
	return fmt.Errorf("sent an invalid message: %w: %s", err, short(noMessage([]byte(sent), cut)))
}

// noMessage returns the first line that is no JSON of the end of what a server sent, all of it if there is none such.
// Of a text that was cut the first line says nothing.
func noMessage(sent []byte, cut bool) []byte {
	for line := range bytes.Lines(sent) {
		if !cut && !json.Valid(line) {
			return line
		}
		cut = false
	}
	return sent
}

// exitOr returns how the server ended, or the other error if it did not.
func (c *conversation) exitOr(other error) error {
	select {
	case <-c.real.process.Done():
		exit, err := c.real.process.Wait()
		if err != nil {
			return fmt.Errorf("ended by itself: %s: %w", exit, err)
		}
		return fmt.Errorf("ended by itself: %s", exit)
	case <-time.After(exitWait):
		return other
	}
}

// refuse answers what the server asks of the agent.
func (c *conversation) refuse(r *jsonrpc.Request) {
	answer := &jsonrpc.Response{ID: r.ID, Result: []byte("{}")}
	if r.Method != methodPing {
		answer = failure(r.ID, jsonrpc.CodeMethodNotFound,
			"sdd-eval stands between this server and the agent, and does not pass on "+r.Method)
	}
	_ = c.real.conn.Write(context.Background(), answer) // its end is found when it is read from
}

// forward passes a message of the agent's on to the server.
func (c *conversation) forward(r *jsonrpc.Request) {
	if c.usable(r) {
		if err := c.real.conn.Write(c.proxy.ctx, withoutOffers(r)); err != nil {
			c.serverFailed(c.exitOr(fmt.Errorf("cannot be written to: %w", err)))
		}
	}
	if err := c.serverError(); err != nil && r.IsCall() {
		c.answer(failure(r.ID, jsonrpc.CodeInternalError, err.Error()))
	}
}

// usable reports whether a message can be passed on to the server. The first request's answer has to come in time.
func (c *conversation) usable(r *jsonrpc.Request) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return false
	}
	if r.IsCall() && c.real.late == nil && !c.real.answers {
		timeout := cmp.Or(c.proxy.config.StartTimeout, DefaultStartTimeout)
		c.real.late = time.AfterFunc(timeout, func() {
			c.proxy.survive(func() {
				c.serverFailed(fmt.Errorf("did not answer its first request (%s) within %v", r.Method, timeout))
			})
		})
	}
	return true
}

// inTime notes that the server has answered.
func (c *conversation) inTime() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.real.answers = true
	if c.real.late != nil {
		c.real.late.Stop()
	}
}

// serverError returns what is wrong with the server, nil if nothing is.
func (c *conversation) serverError() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// serverFailed ends a server with which something is wrong, and answers what it was asked. Only the first reason
// counts, and none once the agent has gone.
func (c *conversation) serverFailed(cause error) {
	c.real.failed.Do(func() {
		if c.real.process != nil {
			_, err := c.real.process.Kill()
			c.keepStopError(err)
		}
		said, _ := c.real.said.Text(true)
		if c.proxy.config.Mask != nil {
			said = c.proxy.config.Mask(said)
		}
		err := &ServerError{Server: c.server, Err: cause}
		if said = strings.TrimSpace(said); said != "" {
			err.Err = fmt.Errorf("%w; it said: %s", cause, said)
		}
		c.mu.Lock()
		over := c.over
		c.broken = err
		c.mu.Unlock()
		if over {
			return
		}
		c.proxy.reportError(err)
		for _, q := range c.waiting() {
			c.answer(failure(q.id, jsonrpc.CodeInternalError, err.Error()))
		}
	})
}

// stopReal ends the server's process when the agent has gone.
func (c *conversation) stopReal() {
	if c.real.process != nil {
		_, err := c.real.process.Stop(context.WithoutCancel(c.proxy.ctx))
		c.keepStopError(err)
	}
	c.inTime()                  // the timer has nothing to say any more
	c.real.failed.Do(func() {}) // or is saying it
	if c.real.conn != nil {
		c.real.listening.Wait()
		_ = c.real.conn.Close()
	}
	for _, q := range c.waiting() {
		c.dropOpen(q.id, "the agent went away before the answer")
	}
}

// keepStopError keeps why a process did not end as it should for Close.
func (c *conversation) keepStopError(err error) {
	if err == nil {
		return
	}
	c.proxy.mu.Lock()
	defer c.proxy.mu.Unlock()
	c.proxy.errs = append(c.proxy.errs, fmt.Errorf("end the MCP server %q: %w", c.server.Name, err))
}

package mcpproxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/mock"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

const (
	// exitWait is how long a server that closed its input or output has to end by itself before it is ended.
	exitWait = time.Second
	// maxSaid is how much of the end of what a server writes is kept for errors, in bytes.
	maxSaid = 2 << 10
)

// realServer is a process of the server for which a conversation stands, or what plays the server.
type realServer struct {
	process *supervise.Process // nil: it could not be started, or is played
	input   io.Closer          // nil: it could not be started
	wire    *wire
	said    excerpt.Tail // the end of its stderr

	listening sync.WaitGroup
	failed    sync.Once
	late      *time.Timer // runs from the first request to the first answer; under the conversation's lock
	answers   bool        // it has answered; under the conversation's lock
}

// startReal starts the server's process.
func (c *conversation) startReal() {
	r := &realServer{said: excerpt.Tail{Limit: maxSaid}}
	c.real = r
	for _, s := range c.proxy.config.Mocks {
		if s.Name == c.server.Name {
			c.play(s)
			return
		}
	}
	ctx := context.WithoutCancel(c.proxy.ctx) // it is stopped when the conversation ends
	process, err := c.proxy.config.Start(ctx, supervise.Command{
		Path: c.server.Command[0], Args: c.server.Command, PipeStdin: true, PipeStdout: true, Stderr: &r.said,
	})
	if err != nil {
		c.serverFailed(fmt.Errorf("cannot be started: %w", err))
		return
	}
	r.process, r.input, r.wire = process, process.Stdin, newWire(process.Stdout, process.Stdin)
	r.listening.Go(func() { c.proxy.survive(c.readServer) })
}

// play has a server played.
func (c *conversation) play(s *mock.Server) {
	toServer, input := io.Pipe()
	output, fromServer := io.Pipe()
	c.real.input, c.real.wire = input, newWire(output, input)
	c.real.listening.Go(func() {
		defer fromServer.Close()
		defer toServer.Close()
		c.proxy.survive(func() {
			if err := s.Serve(toServer, fromServer); err != nil {
				c.proxy.reportError(&ServerError{c.server, err})
			}
		})
	})
	c.real.listening.Go(func() {
		defer output.Close()
		c.proxy.survive(c.readServer)
	})
}

// hangUp closes the server's input, which asks it to end. It also ends what waits for it to read.
func (c *conversation) hangUp() {
	if c.real.input != nil {
		c.real.input.Close()
	}
}

// readServer handles what the server sends, up to its end.
func (c *conversation) readServer() {
	for {
		m, err := c.real.wire.read()
		switch {
		case errors.Is(err, io.EOF):
			c.serverFailed(c.exitOr(errors.New("closed its output but did not exit")))
			return
		case err != nil:
			c.serverFailed(fmt.Errorf("sent an invalid message: %w", err))
			return
		case m.IsResponse():
			c.inTime()
			c.answer(m)
		case m.IsRequest():
			c.refuse(m)
		default:
			c.write(m)
		}
	}
}

// exitOr returns how the server ended, or the other error if it did not.
func (c *conversation) exitOr(other error) error {
	if c.real.process == nil {
		return other
	}
	select {
	case <-c.real.process.Done():
		exit, err := c.real.process.Wait()
		if err != nil {
			return fmt.Errorf("ended by itself: %s: %w", exit, err)
		}
		return fmt.Errorf("ended by itself: %s", exit)
	case <-c.proxy.ctx.Done():
		return other
	case <-time.After(exitWait):
		return other
	}
}

// refuse answers what the server asks of the agent.
func (c *conversation) refuse(r acp.Message) {
	answer := acp.Message{ID: r.ID, Result: []byte("{}")}
	if r.Method != methodPing {
		answer = failure(r.ID, acp.CodeMethodNotFound,
			"sdd-eval stands between this server and the agent, and does not pass on "+r.Method)
	}
	_ = c.real.wire.write(answer) // its end is found when it is read from
}

// forward passes a message of the agent's on to the server.
func (c *conversation) forward(r acp.Message) {
	if c.usable(r) {
		if err := c.real.wire.write(withoutOffers(r)); err != nil {
			c.serverFailed(c.exitOr(fmt.Errorf("cannot be written to: %w", err)))
		}
	}
	if err := c.serverError(); err != nil && r.IsRequest() {
		c.answer(failure(r.ID, acp.CodeInternal, err.Error()))
	}
}

// usable reports whether a message can be passed on to the server. The first request's answer has to come in time.
func (c *conversation) usable(r acp.Message) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return false
	}
	if r.IsRequest() && c.real.late == nil && !c.real.answers {
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
			c.answer(failure(q.id, acp.CodeInternal, err.Error()))
		}
	})
}

// stopReal ends the server's process when the agent has gone.
func (c *conversation) stopReal() {
	if c.real.process != nil {
		_, err := c.real.process.Stop(context.WithoutCancel(c.proxy.ctx))
		c.keepStopError(err)
	}
	c.hangUp()
	c.real.failed.Do(func() {}) // the timer has nothing to say any more, or is saying it
	c.real.listening.Wait()
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

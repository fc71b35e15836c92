package mcpproxy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// conversation is what an agent says to a server over one connection, and what it hears.
type conversation struct {
	proxy  *Proxy
	server plan.MCPServer
	agent  *wire
	real   *realServer // nil in replay
	// subscription is the agent's request for notifications, in replay.
	subscription acp.ID

	mu   sync.Mutex
	open []question // without an answer so far
	// broken is what is wrong with the real server, nil while nothing is.
	broken error
	over   bool // the agent has gone: nothing is wrong with a server that goes, too
}

// question is a request of the agent's.
type question struct {
	id   acp.ID
	call trajectory.MCPCall
}

// maxOpen is how many requests an agent may have without an answer.
const maxOpen = 256

// serve serves one connection of the agent's until one of both ends it.
func (p *Proxy) serve(conn io.ReadWriteCloser, s plan.MCPServer) {
	c := &conversation{proxy: p, server: s, agent: newWire(conn, conn)}
	// It also ends what waits for the agent to read.
	defer context.AfterFunc(p.ctx, func() { conn.Close() })()
	defer conn.Close()
	p.add(c)
	defer p.remove(c)
	if p.player == nil {
		c.startReal()
		defer c.stopReal()
		defer context.AfterFunc(p.ctx, c.hangUp)()
	}
	for {
		m, err := c.agent.read()
		if err != nil {
			c.agentEnded(err)
			return
		}
		c.fromAgent(m)
	}
}

// agentEnded takes the reason why nothing more can be read from the agent.
func (c *conversation) agentEnded(err error) {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	for _, end := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrClosed, syscall.ECONNRESET, context.Canceled,
	} {
		if errors.Is(err, end) {
			return
		}
	}
	c.proxy.reportError(fmt.Errorf("the agent sent the MCP server %q an invalid message: %w",
		c.server.Name, err))
}

// fromAgent handles a message of the agent's.
func (c *conversation) fromAgent(m acp.Message) {
	switch {
	case m.IsResponse(): // to what nobody asked it
	case m.IsNotification():
		c.notified(m)
	case c.real == nil && !isRecorded(m.Method):
		c.answerUnrecorded(m)
	default:
		c.asked(m)
	}
}

// asked handles a request of the agent's.
func (c *conversation) asked(r acp.Message) {
	call, err := callOf(c.server.Name, r)
	if err == nil {
		err = c.addOpen(r.ID, call)
	}
	if err != nil { // which no recording would show
		c.proxy.reportError(fmt.Errorf("the agent asked the MCP server %q for %s: %w", c.server.Name, r.Method, err))
		c.write(failure(r.ID, acp.CodeInvalidRequest, err.Error()))
		return
	}
	args := c.proxy.normalised(call.Params)
	if output, failure, ok := c.proxy.config.Overrides.Apply(Tool(call), args); ok {
		if c.real == nil {
			c.proxy.player.pass(call, args)
		}
		c.answer(response(r.ID, overridden(call, c.proxy.denormalised(output), failure)))
		return
	}
	if c.real == nil {
		c.replay(r.ID, call, args)
		return
	}
	c.forward(r)
}

// addOpen notes a request that is to be answered.
func (c *conversation) addOpen(id acp.ID, call trajectory.MCPCall) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.indexOf(id) >= 0 {
		return fmt.Errorf("the request %v has not been answered yet", valueOf(id))
	}
	if len(c.open) == maxOpen {
		return fmt.Errorf("%d requests have not been answered yet", maxOpen)
	}
	c.open = append(c.open, question{id, call})
	return nil
}

// indexOf returns where a request is among those that are to be answered, -1 if it is not.
func (c *conversation) indexOf(id acp.ID) int {
	return slices.IndexFunc(c.open, func(q question) bool { return sameID(q.id, id) })
}

// takeOpen takes a request from those that are to be answered.
func (c *conversation) takeOpen(id acp.ID) (q question, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := c.indexOf(id)
	if i < 0 {
		return q, false
	}
	q = c.open[i]
	c.open = slices.Delete(c.open, i, i+1)
	return q, true
}

// answer records the answer to a request and gives it to the agent. It is dropped if the agent does not wait for it.
func (c *conversation) answer(r acp.Message) {
	q, ok := c.takeOpen(r.ID)
	if !ok {
		return
	}
	r.ID = q.id // as the agent wrote it
	if isRecorded(q.call.Method) {
		c.proxy.record(withAnswer(q.call, r))
	}
	c.write(r)
}

// notified handles a notification of the agent's.
func (c *conversation) notified(r acp.Message) {
	if r.Method == methodCancelled {
		c.cancelled(r)
	}
	if c.real != nil && r.Method != methodRoots {
		c.forward(r)
	}
}

// cancelled ends a request for whose answer the agent does not wait any more.
func (c *conversation) cancelled(r acp.Message) {
	var params struct {
		RequestID acp.ID `json:"requestId"`
	}
	if json.Unmarshal(r.Params, &params) == nil { // else the server knows no better
		c.dropOpen(params.RequestID, "the agent cancelled the request")
	}
}

// dropOpen records that a request gets no answer.
func (c *conversation) dropOpen(id acp.ID, why string) {
	q, ok := c.takeOpen(id)
	if call := q.call; ok && !call.IsDiscovery() && isRecorded(call.Method) {
		call.Error = &trajectory.MCPError{Code: codeUnanswered, Message: why}
		c.proxy.record(call)
	}
}

// waiting returns the requests that are to be answered.
func (c *conversation) waiting() []question {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.open)
}

// write sends the agent a message. That the agent has gone is found when it is read from.
func (c *conversation) write(m acp.Message) { _ = c.agent.write(m) }

func (p *Proxy) normalised(v any) any {
	if p.config.Normalise == nil {
		return v
	}
	return p.config.Normalise(v)
}

func (p *Proxy) denormalised(v any) any {
	if p.config.Denormalise == nil {
		return v
	}
	return p.config.Denormalise(v)
}

// ServerError says what is wrong with a real server.
type ServerError struct {
	Server plan.MCPServer
	Err    error
}

func (e *ServerError) Error() string {
	from := strings.Join(e.Server.Command, " ")
	if len(e.Server.Mock) > 0 {
		from = "mock " + strings.Join(e.Server.Mock, " ")
	}
	return fmt.Sprintf("the MCP server %q (%s) %v", e.Server.Name, from, e.Err)
}

// Unwrap returns Err.
func (e *ServerError) Unwrap() error { return e.Err }

// Waiting returns a *[ServerError] naming a request that a real server has not answered yet, nil if there is none.
func (p *Proxy) Waiting() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.going {
		for _, q := range c.waiting() {
			if c.real != nil && isRecorded(q.call.Method) {
				return &ServerError{c.server, fmt.Errorf("has not answered %s", c.shown(q.call))}
			}
		}
	}
	return nil
}

// shown names a request with the beginning of its arguments.
func (c *conversation) shown(call trajectory.MCPCall) string {
	const limit = 200 // characters
	args := string(encoded(call.Params))
	if c.proxy.config.Mask != nil {
		args = c.proxy.config.Mask(args)
	}
	return Tool(call) + " " + excerpt.Head(args, limit)
}

func (p *Proxy) add(c *conversation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.going[c] = true
}

func (p *Proxy) remove(c *conversation) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.going, c)
}

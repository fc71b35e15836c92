package mcpproxy

import (
	"fmt"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/spec"
)

// ServerError says what is wrong with a real server.
type ServerError struct {
	Server spec.MCPServer
	Err    error
}

func (e *ServerError) Error() string {
	return fmt.Sprintf("the MCP server %q (%s) %v", e.Server.Name, strings.Join(e.Server.Command, " "), e.Err)
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

// Package mcpproxy stands between an agent and the MCP servers of a playbook: it reports what the agent asks them, and
// can answer in their place from a recording, without the servers.
//
//	proxy, err := mcpproxy.Listen(mcpproxy.Config{
//		Dir: filepath.Join(base, "mcp"), Servers: pb.MCP,
//		Start:  func(ctx context.Context, c supervise.Command) (*supervise.Process, error) { ... }, // confined
//		OnCall: func(c trajectory.MCPCall) { observer.MCP(time.Now(), c) }, OnError: interrupt,
//	})
//	...
//	servers, err := proxy.Servers()
//	session, err := client.NewSession(ctx, acp.NewSessionRequest{Cwd: workspace, McpServers: servers})
//	...
//	err = proxy.Close() // once the agent is gone
//
// In replay Config has a Replay, and Start is not called:
//
//	Replay: mcpproxy.Recorded(cassette.Turns)
//
// What the agent starts as a server is the helper, as a relay: it copies its stdin and stdout to and from a unix
// socket, to which a sandbox has to let it connect, or named pipes, if it lets nobody have a socket. Each relay is one
// connection and, if nothing is replayed, one process of the real server, as it would be without us. A server that
// cannot be started, that ends before the agent does, or that sends anything but MCP is reported to Config.OnError;
// from then on the agent gets errors as answers.
//
// Messages are passed on unchanged, so that agents and servers agree on a protocol version and its extensions by
// themselves. Batches of messages, which only version 2025-03-26 of the protocol has, are an error. Notifications pass
// as well; in replay there are only those of changed lists. A server's own requests (sampling, elicitation, roots) are
// refused, since they could not be replayed. Agents' offers to answer them are not passed on. A request that the agent
// cancelled, or whose answer it did not wait for, has an error that says so; so does its replay.
package mcpproxy

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/helper"
	"github.com/sdd-eval/sdd-eval/internal/interaction"
	"github.com/sdd-eval/sdd-eval/internal/mock"
	"github.com/sdd-eval/sdd-eval/internal/panics"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// DefaultStartTimeout is how long a real server may take for its first answer, if Config names no time.
const DefaultStartTimeout = time.Minute

// maxConnections is how many connections an agent may have to one server at a time.
const maxConnections = 16

// Config says for which servers a proxy stands, and how.
type Config struct {
	// Dir is a directory, made if it is not there, for sockets. The agent has to be able to connect to them. They are
	// left there: the agent may have put something else in their place.
	Dir string
	// Servers are those that the proxy stands in for. Names are unique.
	Servers []plan.MCPServer
	// Start starts a real server, confined as the agent is. The command has the program, its arguments and its streams;
	// Start adds the environment, the directory and the rest.
	Start func(context.Context, supervise.Command) (*supervise.Process, error)
	// StartTimeout bounds a real server's first answer; 0: [DefaultStartTimeout].
	StartTimeout time.Duration
	// Mocks play those of the servers that have their names, without processes.
	Mocks []*mock.Server
	// Replay, if not nil, answers in place of the real servers.
	Replay *Replay
	// Overrides, if not nil, answer before anything else does.
	Overrides *interaction.Overrides

	// Normalise and Denormalise change what the agent sends to what recordings and overrides say, and back: decoded
	// JSON to the same with other texts. They are called from many goroutines, must not change their arguments, and may
	// be nil.
	Normalise, Denormalise func(any) any
	// Mask, if not nil, masks secrets in what a real server said before it ended.
	Mask func(string) string

	// OnCall is called with each request and its answer, one after the other, before the agent gets the answer. What
	// servers say of themselves is reported once, and again when it has changed.
	OnCall func(trajectory.MCPCall)
	// OnError is called with what is wrong with a server (*[ServerError]), or with what the agent sends it, and
	// divergences (*[interaction.DivergenceError]). It may be called from many goroutines.
	OnError func(error)
}

// Proxy stands for servers until it is closed.
type Proxy struct {
	config    Config
	ctx       context.Context // until Close
	cancel    context.CancelFunc
	player    *player // nil: real servers answer
	listeners []*listener
	running   sync.WaitGroup

	mu        sync.Mutex
	going     map[*conversation]bool       // those that have not ended
	described map[string][sha256.Size]byte // digests of what servers said of themselves, by request
	errs      []error                      // of Close
}

// Listen makes a proxy, which ends with [Proxy.Close].
func Listen(c Config) (*Proxy, error) {
	if err := os.MkdirAll(c.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("make the directory for sockets of MCP servers: %w", err)
	}
	p := &Proxy{config: c, going: make(map[*conversation]bool), described: make(map[string][sha256.Size]byte)}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if c.Replay != nil {
		p.player = newPlayer(c.Replay)
	}
	for i, s := range c.Servers {
		l, err := listen(filepath.Join(c.Dir, fmt.Sprintf("%d.sock", i)))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("proxy the MCP server %q: %w", s.Name, err), p.Close())
		}
		p.listeners = append(p.listeners, l)
		p.running.Go(func() { p.accept(l, l.acceptSocket, s) })
		p.running.Go(func() { p.accept(l, l.pipes.accept, s) })
	}
	return p, nil
}

// Servers are what the agent is asked to start: for each server the helper, as a relay.
func (p *Proxy) Servers() ([]acp.McpServer, error) {
	relay, err := helper.Find()
	if err != nil {
		return nil, err
	}
	all := make([]acp.McpServer, len(p.listeners))
	for i, l := range p.listeners {
		argv := relay.Command(helper.Relay, l.path)
		all[i] = acp.McpServerStdio{
			Name: p.config.Servers[i].Name, Command: argv[0], Args: argv[1:],
			Env: []acp.EnvVariable{},
		}
	}
	return all, nil
}

// Close ends all connections and real servers. Its error says which servers could not be ended.
func (p *Proxy) Close() error {
	p.cancel()
	for _, l := range p.listeners {
		l.close()
	}
	p.running.Wait()
	p.mu.Lock()
	defer p.mu.Unlock()
	return errors.Join(p.errs...)
}

// accept takes the connections to one server that come one way.
func (p *Proxy) accept(l *listener, next func() (io.ReadWriteCloser, error), s plan.MCPServer) {
	var open sync.WaitGroup
	defer open.Wait()
	for {
		conn, err := next()
		if err != nil {
			if !errors.Is(err, net.ErrClosed) && !errors.Is(err, os.ErrClosed) {
				p.reportError(fmt.Errorf("proxy the MCP server %q: %w", s.Name, err))
			}
			return
		}
		select {
		case l.free <- struct{}{}:
			open.Go(func() {
				p.survive(func() { p.serve(conn, s) })
				<-l.free
			})
		default:
			conn.Close()
			p.reportError(fmt.Errorf("the agent started the MCP server %q more than %d times at once", s.Name,
				maxConnections))
		}
	}
}

// survive calls what runs on a goroutine of its own. A panic there, be it of [Config.OnCall], is reported and ends
// nothing else.
func (p *Proxy) survive(f func()) {
	if err := panics.Catch(func() error { f(); return nil }); err != nil {
		p.reportError(err)
	}
}

// reportError tells [Config.OnError] an error, unless all ends anyway.
func (p *Proxy) reportError(err error) {
	if p.ctx.Err() == nil && p.config.OnError != nil {
		p.config.OnError(err)
	}
}

// record tells [Config.OnCall] a request with its answer, unless a server says of itself what it said before.
func (p *Proxy) record(c trajectory.MCPCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if c.IsDiscovery() {
		request, answer := subject(c), sha256.Sum256(encoded([]any{c.Result, c.Error}))
		if p.described[request] == answer {
			return
		}
		p.described[request] = answer
	}
	p.config.OnCall(c)
}

// offers are what agents can do for servers, by its names among their capabilities.
var offers = []string{"sampling", "elicitation", "roots", "tasks"}

// withoutOffers returns a request without what the agent offers to do for the server, which nothing could replay: a
// server that knows of no offer does without.
func withoutOffers(r acp.Message) acp.Message {
	if len(r.Params) == 0 {
		return r
	}
	params, err := object(r.Params)
	if err != nil {
		return r
	}
	found := false
	take := func(from any, key string) {
		fields, _ := from.(map[string]any)
		capabilities, _ := fields[key].(map[string]any)
		for _, name := range offers {
			if _, ok := capabilities[name]; ok {
				delete(capabilities, name)
				found = true
			}
		}
	}
	if r.Method == methodInitialize {
		take(params, "capabilities")
	}
	take(params["_meta"], metaCapabilities) // of protocol versions in which each request says it
	if found {
		r.Params = encoded(params)
	}
	return r
}

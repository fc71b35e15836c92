package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// ClientConfig says what a [Client] offers to the agent and within which bounds. The zero value is a client that offers
// neither files nor terminals and cancels every permission request.
type ClientConfig struct {
	// Info names this client to the agent; without a name it is not sent.
	Info Implementation
	// Capabilities are advertised as given, except that FS and Terminal follow from Files and Terminals, Session is, if
	// nil, support for notices and compaction, and Meta is, if nil, {"terminal_output":true}: without that, agents that
	// run commands themselves do not show their output.
	Capabilities ClientCapabilities
	// Files serves the agent's file requests; nil: not advertised, requests are refused.
	Files FileHandler
	// Terminals serves the agent's terminal requests; nil: not advertised, requests are refused.
	Terminals TerminalHandler
	// Permission decides the agent's permission requests: it returns [Selected] with the id of one of the request's
	// options, or [Cancelled]. It is called concurrently. When the turn is cancelled, its context ends, and the request
	// is answered as cancelled whatever Permission returns. Nil: every request is answered as cancelled.
	Permission func(context.Context, RequestPermissionRequest) (RequestPermissionResponse, error)
	// Update receives the updates of all sessions, one at a time and in the order of the wire. It must not call methods
	// of Client or Session that wait for the agent. While it runs, frames wait in the backlog.
	Update func(SessionNotification)
	// Tap receives every frame of both directions, one at a time: frames from the agent in the order of the wire before
	// anything else is done with them, frames to the agent in the order in which they are written.
	Tap func(Frame)
	// Panicked, if not nil, is called with the value and the stack of a panic in one of the functions above. A request
	// is then answered with an error; a panic of Update or Tap ends the connection. It may be called from several
	// goroutines.
	Panicked func(value any, stack []byte)

	// MaxLine is the longest line in bytes that the agent may write; past that, the connection ends with
	// [ErrLineTooLong]. Zero means 64 MiB.
	MaxLine int
	// MaxBacklog is how many bytes of frames may wait to be handled. When there are more, reading pauses, so that a
	// flood slows the agent down instead of filling memory; nothing is lost. A single longer line is still taken. It
	// also bounds the updates kept for sessions that the agent has not yet announced; past that, the connection ends
	// with [ErrBacklog]. Zero means 16 MiB.
	MaxBacklog int
	// WriteTimeout is how long the agent may take to read what is written to it, for each 64 KiB; past it the
	// connection ends with [ErrStalled]. Zero means 30 s.
	WriteTimeout time.Duration
	// CancelGrace is how long [Session.Prompt] waits for the end of the turn after session/cancel. Zero means 10 s.
	CancelGrace time.Duration
	// DrainIdle is how long a session has to be silent after the end of its turn before [Session.Prompt] returns,
	// because agents send updates after their last word. Zero means 200 ms, a negative value no draining.
	DrainIdle time.Duration
	// DrainMax bounds the draining of a session that does not become silent. Zero means 2 s.
	DrainMax time.Duration
}

// Defaults of [ClientConfig].
const (
	defaultMaxLine      = 64 << 20
	defaultMaxBacklog   = 16 << 20
	defaultWriteTimeout = 30 * time.Second
	defaultCancelGrace  = 10 * time.Second
	defaultDrainIdle    = 200 * time.Millisecond
	defaultDrainMax     = 2 * time.Second
)

func (cfg ClientConfig) withDefaults() ClientConfig {
	cfg.MaxLine = cmp.Or(cfg.MaxLine, defaultMaxLine)
	cfg.MaxBacklog = cmp.Or(cfg.MaxBacklog, defaultMaxBacklog)
	cfg.WriteTimeout = cmp.Or(cfg.WriteTimeout, defaultWriteTimeout)
	cfg.CancelGrace = cmp.Or(cfg.CancelGrace, defaultCancelGrace)
	cfg.DrainIdle = cmp.Or(cfg.DrainIdle, defaultDrainIdle)
	cfg.DrainMax = cmp.Or(cfg.DrainMax, defaultDrainMax)
	return cfg
}

// capabilities returns what is advertised.
func (cfg ClientConfig) capabilities() ClientCapabilities {
	c := cfg.Capabilities
	c.FS.ReadTextFile = cfg.Files != nil
	c.FS.WriteTextFile = cfg.Files != nil
	c.Terminal = cfg.Terminals != nil
	if c.Session == nil {
		c.Session = &ClientSessionCapabilities{Compaction: &Supported{}, Notices: &Supported{}}
	}
	if c.Meta == nil {
		c.Meta = json.RawMessage(`{"terminal_output":true}`)
	}
	return c
}

// Client is the client's side of one connection to an agent. It is made by [NewClient]; its methods may be called
// concurrently.
type Client struct {
	cfg  ClientConfig
	conn conn

	mu          sync.Mutex
	initialized bool
	sessions    map[string]*Session
	announcing  int                   // calls of session/new that wait for their result
	early       []SessionNotification // for sessions that have not been announced
	earlyBytes  int
}

// NewClient starts a connection that reads the agent's output from r and writes its input to w. Reading goes on until r
// ends, even after [Client.Close], so that the agent's last words are recorded and it is never blocked by its output:
// whoever started the agent has to end it. w should be an io.Closer whose Close ends a Write that hangs, as pipes and
// connections are: it is closed when the connection ends.
func NewClient(r io.Reader, w io.Writer, cfg ClientConfig) *Client {
	c := &Client{cfg: cfg.withDefaults(), sessions: make(map[string]*Session)}
	c.conn.notify, c.conn.serve, c.conn.tap, c.conn.panicked = c.notify, c.serve, cfg.Tap, cfg.Panicked
	c.conn.start(r, w, c.cfg)
	return c
}

// Initialize agrees with the agent on the protocol's version and on capabilities; it comes first. If the agent wants a
// version that this package does not speak, the connection ends with a [*VersionError].
func (c *Client) Initialize(ctx context.Context) (InitializeResponse, error) {
	req := InitializeRequest{ProtocolVersion: ProtocolVersion, ClientCapabilities: c.cfg.capabilities()}
	if c.cfg.Info.Name != "" {
		req.ClientInfo = &c.cfg.Info
	}
	var resp InitializeResponse
	err := c.conn.call(ctx, MethodInitialize, req, func(result json.RawMessage) error {
		return unmarshalValid(result, &resp)
	})
	if err != nil {
		return InitializeResponse{}, err
	}
	if resp.ProtocolVersion != ProtocolVersion {
		err := &VersionError{Got: resp.ProtocolVersion}
		c.conn.fail(err)
		return resp, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.initialized = true
	return resp, nil
}

// Authenticate authenticates by one of the methods that the agent named when it was initialized.
func (c *Client) Authenticate(ctx context.Context, methodID string) error {
	return c.conn.call(ctx, MethodAuthenticate, AuthenticateRequest{MethodID: methodID}, ignoreResult)
}

func ignoreResult(json.RawMessage) error { return nil }

// NewSession starts a session. Updates that the agent sent for it before announcing it are passed to
// [ClientConfig.Update] before NewSession returns.
func (c *Client) NewSession(ctx context.Context, req NewSessionRequest) (*Session, error) {
	c.mu.Lock()
	if !c.initialized {
		c.mu.Unlock()
		return nil, errors.New("acp: NewSession needs a successful Initialize first")
	}
	c.announcing++
	c.mu.Unlock()
	defer c.announced()

	var s *Session
	err := c.conn.call(ctx, MethodNewSession, req, func(result json.RawMessage) error {
		var resp NewSessionResponse
		if err := unmarshalValid(result, &resp); err != nil {
			return err
		}
		s = newSession(c, resp)
		c.announce(s)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// announce registers a session and passes on the updates that came before its announcement. It runs in the dispatcher.
func (c *Client) announce(s *Session) {
	c.mu.Lock()
	c.sessions[s.id] = s
	var own, others []SessionNotification
	for _, n := range c.early {
		if n.SessionID == s.id {
			own = append(own, n)
		} else {
			others = append(others, n)
		}
	}
	c.early = others
	c.mu.Unlock()
	for _, n := range own {
		c.update(s, n)
	}
}

// announced ends a call of session/new. After the last one it drops the updates that still belong to no session.
func (c *Client) announced() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.announcing--; c.announcing > 0 {
		return
	}
	for range c.early {
		c.conn.ignore()
	}
	c.early, c.earlyBytes = nil, 0
}

// Close ends the connection: it closes w, if that is an io.Closer, and makes waiting calls return [ErrClosed]. It does
// not wait: [Client.Done] is closed when the agent has closed its output too. It returns the error of closing w, and
// nil if the connection had already ended.
func (c *Client) Close() error { return c.conn.fail(ErrClosed) }

// Done is closed when the connection and the agent's output have ended and all handlers have returned: nothing calls
// the functions of the [ClientConfig] any more.
func (c *Client) Done() <-chan struct{} { return c.conn.done }

// Err returns why the connection ended: [ErrClosed], [ErrEnded], [ErrStalled], [ErrLineTooLong], [ErrBacklog], a
// [*VersionError] or what the reader returned. It is nil while the connection has not ended.
func (c *Client) Err() error { return c.conn.err() }

// Stats returns what the client has counted so far.
func (c *Client) Stats() Stats {
	c.conn.mu.Lock()
	defer c.conn.mu.Unlock()
	return c.conn.stats
}

// Stats counts what a client received.
type Stats struct {
	// Frames is the number of lines, those below included.
	Frames int
	// Malformed is the number of lines that were not messages, not counting blank ones.
	Malformed int
	// Blank is the number of blank lines.
	Blank int
	// Ignored is the number of notifications that were not handled: unknown methods, unreadable params.
	Ignored int
	// Unmatched is the number of responses that no request was waiting for.
	Unmatched int
}

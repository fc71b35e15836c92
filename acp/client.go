package acp

import (
	"context"
	"io"
	"time"
)

// ClientConfig says what a [Client] offers to the agent and within which bounds. The zero value is a client that
// offers neither files nor terminals and cancels every permission request.
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
	// options, or [Cancelled]. It is called concurrently; its context ends when the turn is cancelled, and the request
	// is then answered as cancelled whatever it returns. Nil: every request is answered as cancelled.
	Permission func(context.Context, RequestPermissionRequest) (RequestPermissionResponse, error)
	// Update receives the updates of all sessions, one at a time and in the order of the wire. It must not call methods
	// of Client or Session that wait for the agent. While it runs, frames wait in the backlog.
	Update func(SessionNotification)
	// Tap receives every frame of both directions, one at a time: frames from the agent in the order of the wire before
	// anything else is done with them, frames to the agent in the order in which they are written.
	Tap func(Frame)

	// MaxLine is the longest line in bytes that the agent may write; past it the connection ends with
	// [ErrLineTooLong]. Zero means 64 MiB.
	MaxLine int
	// MaxBacklog is how many bytes of frames may wait to be handled. When there are more, reading pauses, so that a
	// flood slows the agent down instead of filling memory; nothing is lost. A single longer line is still taken. It also
	// bounds the updates kept for sessions that the agent has not yet announced; past it the connection ends with
	// [ErrBacklog]. Zero means 16 MiB.
	MaxBacklog int
	// WriteTimeout is how long the agent may read nothing while something is being written to it; past it the
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

// Client is the client's side of one connection to an agent. It is made by [NewClient]; its methods may be called
// concurrently.
type Client struct{}

// NewClient starts a connection that reads the agent's output from r and writes its input to w.
func NewClient(r io.Reader, w io.Writer, cfg ClientConfig) *Client { panic("not written yet") }

// Initialize agrees with the agent on the protocol's version and on capabilities; it comes first.
func (c *Client) Initialize(ctx context.Context) (InitializeResponse, error) { panic("not written yet") }

// Authenticate authenticates by one of the methods that the agent named when it was initialized.
func (c *Client) Authenticate(ctx context.Context, methodID string) error { panic("not written yet") }

// NewSession starts a session.
func (c *Client) NewSession(ctx context.Context, req NewSessionRequest) (*Session, error) {
	panic("not written yet")
}

// Close ends the connection: it closes w, if that is an io.Closer.
func (c *Client) Close() error { panic("not written yet") }

// Done is closed when the connection has ended and everything that was received has been handled.
func (c *Client) Done() <-chan struct{} { panic("not written yet") }

// Err returns why the connection ended, nil while it has not.
func (c *Client) Err() error { panic("not written yet") }

// Stats returns what the client has counted so far.
func (c *Client) Stats() Stats { panic("not written yet") }

// Stats counts what a client received.
type Stats struct {
	// Frames is the number of lines, those below included.
	Frames int
	// Malformed is the number of lines that were no message, blank ones not included.
	Malformed int
	// Blank is the number of blank lines.
	Blank int
	// Ignored is the number of notifications that nobody handled: unknown methods, unreadable params.
	Ignored int
	// Unmatched is the number of responses to nothing that was waiting for one.
	Unmatched int
}

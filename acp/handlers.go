package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// FileHandler serves the agent's file requests. Paths are as the agent wrote them: the protocol wants them absolute,
// and a handler has to refuse those that are not. An error that is an [*Error] is sent as it is; one that is
// fs.ErrNotExist becomes "Resource not found" (-32002), every other one an internal error. The context ends with the
// connection, and when the agent cancels the request. Its methods are called concurrently.
type FileHandler interface {
	ReadTextFile(context.Context, ReadTextFileRequest) (ReadTextFileResponse, error)
	WriteTextFile(context.Context, WriteTextFileRequest) (WriteTextFileResponse, error)
}

// TerminalHandler serves the agent's terminal requests; errors and contexts are as in [FileHandler]. Create returns at
// once; WaitForExit returns when the command has ended or the context is done. Its methods are called concurrently.
type TerminalHandler interface {
	Create(context.Context, CreateTerminalRequest) (CreateTerminalResponse, error)
	Output(context.Context, TerminalOutputRequest) (TerminalOutputResponse, error)
	WaitForExit(context.Context, WaitForTerminalExitRequest) (WaitForTerminalExitResponse, error)
	Kill(context.Context, KillTerminalRequest) (KillTerminalResponse, error)
	Release(context.Context, ReleaseTerminalRequest) (ReleaseTerminalResponse, error)
}

// serve answers a request of the agent.
func (c *Client) serve(ctx context.Context, m Message) (any, error) {
	if m.Method == MethodRequestPermission {
		return answer(ctx, c, m, c.permission)
	}
	if c.cfg.Files != nil {
		switch m.Method {
		case MethodReadTextFile:
			return answer(ctx, c, m, c.readTextFile)
		case MethodWriteTextFile:
			return answer(ctx, c, m, c.writeTextFile)
		}
	}
	if terminals := c.cfg.Terminals; terminals != nil {
		switch m.Method {
		case MethodCreateTerminal:
			return answer(ctx, c, m, terminals.Create)
		case MethodTerminalOutput:
			return answer(ctx, c, m, terminals.Output)
		case MethodWaitForTerminalExit:
			return answer(ctx, c, m, terminals.WaitForExit)
		case MethodKillTerminal:
			return answer(ctx, c, m, terminals.Kill)
		case MethodReleaseTerminal:
			return answer(ctx, c, m, terminals.Release)
		}
	}
	return nil, &Error{Code: CodeMethodNotFound, Message: "Method not found: " + excerpt.Head(m.Method, 256)}
}

// answer decodes the params of a request that belongs to a session and answers it by handle.
func answer[Req, Resp any](
	ctx context.Context, c *Client, m Message, handle func(context.Context, Req) (Resp, error),
) (any, error) {
	var req Req
	if err := unmarshalValid(m.Params, &req); err != nil {
		return nil, invalidParams("%v", err)
	}
	var id string
	if text := (&scanner{data: m.Params}).member("sessionId"); len(text) > 0 && text[0] == '"' {
		id = unquote(text)
	}
	s := c.session(id)
	if s == nil {
		return nil, invalidParams("unknown session %q", excerpt.Head(id, 256))
	}
	s.touch()
	return handle(ctx, req)
}

// session returns the session with that id, nil if the agent has not announced it.
func (c *Client) session(id string) *Session {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions[id]
}

func (c *Client) permission(ctx context.Context, req RequestPermissionRequest) (RequestPermissionResponse, error) {
	return c.session(req.SessionID).permission(ctx, req)
}

func (c *Client) readTextFile(ctx context.Context, req ReadTextFileRequest) (ReadTextFileResponse, error) {
	resp, err := c.cfg.Files.ReadTextFile(ctx, req)
	return resp, fileError(req.Path, err)
}

func (c *Client) writeTextFile(ctx context.Context, req WriteTextFileRequest) (WriteTextFileResponse, error) {
	resp, err := c.cfg.Files.WriteTextFile(ctx, req)
	return resp, fileError(req.Path, err)
}

func invalidParams(format string, args ...any) *Error {
	return &Error{Code: CodeInvalidParams, Message: "Invalid params: " + fmt.Sprintf(format, args...)}
}

// fileError returns the error to send for a file handler's error. A missing file is named as agents' SDKs do it.
func fileError(name string, err error) error {
	if _, ok := errors.AsType[*Error](err); ok || !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	uri, jsonErr := json.Marshal(map[string]string{"uri": name})
	if jsonErr != nil {
		return jsonErr
	}
	return &Error{Code: CodeResourceNotFound, Message: "Resource not found: " + name, Data: uri}
}

// notify handles a notification of the agent. It runs in the dispatcher.
func (c *Client) notify(m Message) {
	var n SessionNotification
	if m.Method != MethodUpdate || unmarshalValid(m.Params, &n) != nil {
		c.conn.ignore()
		return
	}
	c.mu.Lock()
	s := c.sessions[n.SessionID]
	wait := s == nil && c.announcing > 0
	if wait {
		c.early = append(c.early, n)
		c.earlyBytes += len(m.Params) + frameOverhead
	}
	full := c.earlyBytes > c.cfg.MaxBacklog
	c.mu.Unlock()
	switch {
	case wait && full:
		c.conn.fail(ErrBacklog)
	case wait:
	case s == nil:
		c.conn.ignore()
	default:
		c.update(s, n)
	}
}

// update passes an update on. It runs in the dispatcher.
func (c *Client) update(s *Session, n SessionNotification) {
	defer c.conn.recoverPanic("handler of " + MethodUpdate)
	s.touch()
	s.apply(n.Update)
	if c.cfg.Update != nil {
		c.cfg.Update(n)
	}
	s.touch() // the handler may have taken its time
}

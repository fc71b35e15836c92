package scripted

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

// stage is where actions are done: a session, and the prompt that is being answered if there is one. It belongs to one
// goroutine.
type stage struct {
	srv     *server
	session *session
	prompt  json.RawMessage // its id
	call    string          // the id of the tool call that is under way

	// What the last action read or printed, and how its command exited.
	output string
	exit   *exitStatus
}

// step is an action that is set.
type step interface {
	// do does it. An error that is a *failure is the action's own; every other one ends whatever is going on.
	do(ctx context.Context, st *stage) error
}

// failure is an action that could not be done.
type failure struct {
	err error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func failuref(format string, args ...any) error { return &failure{fmt.Errorf(format, args...)} }

// play does actions in order.
func (st *stage) play(ctx context.Context, path string, actions []Action) error {
	for i, a := range actions {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		names, steps := a.set()
		err := steps[0].do(ctx, st)
		if f, ok := errors.AsType[*failure](err); ok {
			return &failure{fmt.Errorf("%s[%d].%s: %w", path, i, names[0], f.err)}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// aside does actions for whose failure there is no response: standard error has to do.
func (st *stage) aside(path string, actions []Action) {
	err := st.play(st.srv.ctx, path, actions)
	if f, ok := errors.AsType[*failure](err); ok {
		st.srv.complain(f.Error())
	}
}

// turn answers the prompt.
func (st *stage) turn(ctx context.Context, path string, t Turn) {
	actions := ctx
	if t.IgnoreCancel {
		actions = st.srv.ctx
	}
	err := st.play(actions, path+".actions", t.Actions)
	stop := cmp.Or(t.Stop, "end_turn")
	if context.Cause(actions) == errCancelled {
		stop = "cancelled"
		err = st.play(st.srv.ctx, path+".on_cancel", t.OnCancel)
	} else if err == nil && t.Error != nil {
		err = t.Error
	}
	st.srv.endTurn(st.session)
	result := map[string]any{"stopReason": stop}
	if t.Tokens != nil {
		result["usage"] = t.Tokens.wire()
	}
	st.srv.respond(st.prompt, result, err)
	st.aside(path+".after", t.After)
}

// endTurn lets the next prompt in. It comes before the answer, since after that the client may send one at once.
func (srv *server) endTurn(s *session) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	s.cancel(nil)
	s.cancel = nil
}

func (t Tokens) wire() map[string]any {
	v := map[string]any{"inputTokens": t.Input, "outputTokens": t.Output, "totalTokens": t.Total}
	for name, n := range map[string]int64{
		"thoughtTokens": t.Thought, "cachedReadTokens": t.CachedRead, "cachedWriteTokens": t.CachedWrite,
	} {
		if n != 0 {
			v[name] = n
		}
	}
	return v
}

// update sends a session update of that kind.
func (st *stage) update(kind string, u map[string]any) error {
	u["sessionUpdate"] = kind
	return st.notify(u)
}

func (st *stage) notify(update any) error {
	return st.srv.send(frame{Method: "session/update", Params: notification{st.session.id, update}})
}

type notification struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
}

// request sends a request of the session to the client. An error response is a *failure.
func (st *stage) request(ctx context.Context, method string, params map[string]any, result any) error {
	params["sessionId"] = st.session.id
	err := st.srv.call(ctx, st.prompt, method, params, result)
	if rpc, ok := errors.AsType[*Error](err); ok {
		return &failure{fmt.Errorf("%s: %w", method, rpc)}
	}
	return err
}

// abs returns path below the session's directory, unless it is absolute. It is not cleaned: what the client makes of
// "link/../x" is the client's.
func (st *stage) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return st.session.cwd + string(filepath.Separator) + path
}

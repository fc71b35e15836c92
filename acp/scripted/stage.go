package scripted

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
)

// stage is what actions work with: a session and, during a turn, the prompt. It belongs to one goroutine.
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
	// do does it. A *failure means that the action could not be done; any other error ends the turn.
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

// aside does actions whose failure no response can report; it goes to standard error.
func (st *stage) aside(path string, actions []Action) {
	err := st.play(st.srv.ctx, path, actions)
	if f, ok := errors.AsType[*failure](err); ok {
		st.srv.logError(f.Error())
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

// abs returns path below the session's directory, unless it is absolute. It is not cleaned, so that the client decides
// what "link/../x" is.
func (st *stage) abs(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return st.session.cwd + string(filepath.Separator) + path
}

func (t *Tool) do(ctx context.Context, st *stage) error {
	call := cmp.Or(t.ID, st.srv.nextTool(st.session))
	inner := &stage{srv: st.srv, session: st.session, prompt: st.prompt, call: call}
	if t.Ask == nil || !t.Ask.First {
		if err := st.update("tool_call", t.wire(inner)); err != nil {
			return err
		}
	}
	if t.Ask != nil {
		allowed, err := t.ask(ctx, inner)
		if err != nil {
			return errors.Join(err, inner.closeCall("failed", err.Error()))
		}
		if !allowed {
			if err := inner.closeCall("failed", "permission denied"); err != nil {
				return err
			}
			return st.play(ctx, "ask.denied", t.Ask.Denied)
		}
	}
	if err := inner.progress(map[string]any{"status": "in_progress"}); err != nil {
		return err
	}
	return t.end(inner, inner.play(ctx, "do", t.Do))
}

// nextTool returns the id of a session's next tool call.
func (srv *server) nextTool(s *session) string {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	s.tools++
	return fmt.Sprintf("call-%d", s.tools)
}

// wire returns the call as it is announced.
func (t *Tool) wire(st *stage) map[string]any {
	v := map[string]any{"toolCallId": st.call, "title": t.Title, "kind": cmp.Or(t.Kind, "other"), "status": "pending"}
	if t.Name != "" {
		v["name"] = t.Name
	}
	if t.Input != nil {
		v["rawInput"] = t.Input
	}
	locations := []any{}
	for _, l := range t.Locations {
		location := map[string]any{"path": st.abs(l.Path)}
		if l.Line > 0 {
			location["line"] = l.Line
		}
		locations = append(locations, location)
	}
	v["locations"] = locations
	if t.Diff != nil {
		v["content"] = []any{map[string]any{
			"type": "diff", "path": st.abs(t.Diff.Path), "oldText": t.Diff.Old, "newText": t.Diff.New,
		}}
	}
	return v
}

// end closes the call after its actions, which ended with err. If they failed, so did the call.
func (t *Tool) end(st *stage, err error) error {
	if err != nil {
		closing := st.closeCall("failed", err.Error())
		if _, ok := errors.AsType[*failure](err); ok {
			return closing
		}
		return errors.Join(err, closing)
	}
	output := t.Output
	if output == nil && st.output != "" {
		output = st.output
	}
	return st.closeCall(cmp.Or(t.Status, "completed"), output)
}

// closeCall sends the last update of the call that is under way.
func (st *stage) closeCall(status string, output any) error {
	v := map[string]any{"status": status}
	if output != nil {
		v["rawOutput"] = output
	}
	if st.exit != nil {
		v["_meta"] = map[string]any{"terminal_exit": map[string]any{
			"terminal_id": st.call, "exit_code": st.exit.Code, "signal": st.exit.Signal,
		}}
	}
	return st.progress(v)
}

// progress sends an update of the call that is under way.
func (st *stage) progress(v map[string]any) error {
	v["toolCallId"] = st.call
	return st.update("tool_call_update", v)
}

// ask asks for permission. It waits for the answer even when the turn is cancelled, because clients have to answer
// then, too.
func (t *Tool) ask(ctx context.Context, st *stage) (allowed bool, err error) {
	options := t.Ask.Options
	if len(options) == 0 {
		options = []PermissionOption{
			{ID: "allow", Name: "Allow", Kind: "allow_once"},
			{ID: "reject", Name: "Reject", Kind: "reject_once"},
		}
	}
	wire, kinds := []any{}, make(map[string]string)
	for _, o := range options {
		kinds[o.ID] = o.Kind
		wire = append(wire, map[string]any{"optionId": o.ID, "name": cmp.Or(o.Name, o.ID), "kind": o.Kind})
	}
	var answer struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	params := map[string]any{"toolCall": t.wire(st), "options": wire}
	if err := st.request(st.srv.ctx, "session/request_permission", params, &answer); err != nil {
		return false, err
	}
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	kind, known := kinds[answer.Outcome.OptionID]
	switch answer.Outcome.Outcome {
	case "selected":
		if !known {
			return false, failuref("the client chose %q, which is not one of the options", answer.Outcome.OptionID)
		}
		return kind == "allow_once" || kind == "allow_always", nil
	case "cancelled":
		return false, nil
	default:
		return false, failuref("the client answered with the unknown outcome %q", answer.Outcome.Outcome)
	}
}

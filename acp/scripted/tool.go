package scripted

import (
	"cmp"
	"context"
	"errors"
	"fmt"
)

func (t *Tool) do(ctx context.Context, st *stage) error {
	inner := &stage{srv: st.srv, session: st.session, prompt: st.prompt, call: cmp.Or(t.ID, st.srv.nextTool(st.session))}
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

// end closes the call after its actions, which ended with err. Their failure is the call's.
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

// ask asks for permission. It waits for the answer even when the turn is cancelled, because clients owe one then, too.
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
		return false, failuref("the client's outcome %q is unknown", answer.Outcome.Outcome)
	}
}

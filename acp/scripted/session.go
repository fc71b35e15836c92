package scripted

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
)

// errCancelled is the cause of a turn's end when the client has cancelled it.
var errCancelled = errors.New("scripted: the client cancelled the turn")

// session is one session of a connection.
type session struct {
	id, cwd string
	client  capabilities

	// Guarded by server.mu.
	mode    string
	options []Option // with their current values
	prompts int      // received so far
	tools   int      // called so far
	cancel  context.CancelCauseFunc
	last    <-chan struct{} // closed when all actions so far are done
}

// then starts work when all earlier work of the session is done, so that a client always sees the same order. It must
// be called with server.mu held.
func (s *session) then(srv *server, work func()) {
	before, done := s.last, make(chan struct{})
	s.last = done
	srv.work.Go(func() {
		defer close(done)
		if before != nil {
			<-before
		}
		work()
	})
}

// session returns the session with that id.
func (srv *server) session(id string) (*session, error) {
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if s := srv.sessions[id]; s != nil {
		return s, nil
	}
	return nil, errorf(codeInvalidParams, "unknown session %q", id)
}

func (srv *server) newSession(m message) (any, error) {
	var params struct {
		Cwd string `json:"cwd"`
	}
	if err := decode(m, &params); err != nil {
		return nil, err
	}
	if !filepath.IsAbs(params.Cwd) {
		return nil, errorf(codeInvalidParams, "session/new: cwd %q is not an absolute path", params.Cwd)
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if len(srv.script.Auth) > 0 && !srv.authenticated {
		return nil, errorf(codeAuthRequired, "session/new: authenticate first")
	}
	offer := srv.script.Session
	s := &session{
		id: fmt.Sprintf("session-%d", len(srv.sessions)+1), cwd: params.Cwd, client: srv.client,
		options: offer.options(),
	}
	if offer.Modes != nil {
		s.mode = offer.Modes.Current
	}
	srv.sessions[s.id] = s
	result := s.describe(offer.Modes)
	s.then(srv, func() {
		st := &stage{srv: srv, session: s}
		if err := st.play(srv.ctx, "session.before", offer.Before); err != nil {
			srv.respond(m.ID, nil, err)
			return
		}
		srv.respond(m.ID, result, nil)
		st.aside("session.after", offer.After)
	})
	return nil, nil
}

// options returns all config options that the session offers.
func (s Session) options() []Option {
	options := slices.Clone(s.Options)
	if s.Models != nil {
		options = append(options, Option{
			ID: "model", Name: "Model", Category: "model", Current: s.Models.Current, Choices: s.Models.Choices,
		})
	}
	return options
}

// describe returns the answer to session/new.
func (s *session) describe(modes *Offer) map[string]any {
	result := map[string]any{"sessionId": s.id}
	if modes != nil {
		available := []any{}
		for _, c := range modes.Choices {
			available = append(available, c.wire("id"))
		}
		result["modes"] = map[string]any{"currentModeId": s.mode, "availableModes": available}
	}
	if len(s.options) > 0 {
		result["configOptions"] = wireOptions(s.options)
	}
	return result
}

// wire returns c as it is on the wire, where the member for its id is called key.
func (c Choice) wire(key string) map[string]any {
	v := map[string]any{key: c.ID, "name": cmp.Or(c.Name, c.ID)}
	if c.Description != "" {
		v["description"] = c.Description
	}
	return v
}

func wireOptions(options []Option) []any {
	list := []any{}
	for _, o := range options {
		choices := []any{}
		for _, c := range o.Choices {
			choices = append(choices, c.wire("value"))
		}
		v := map[string]any{
			"id": o.ID, "name": cmp.Or(o.Name, o.ID), "type": "select", "currentValue": o.Current, "options": choices,
		}
		if o.Category != "" {
			v["category"] = o.Category
		}
		list = append(list, v)
	}
	return list
}

func (srv *server) setMode(m message) (any, error) {
	var params struct {
		SessionID string `json:"sessionId"`
		ModeID    string `json:"modeId"`
	}
	if err := decode(m, &params); err != nil {
		return nil, err
	}
	s, err := srv.session(params.SessionID)
	if err != nil {
		return nil, err
	}
	modes := srv.script.Session.Modes
	if modes == nil || !offers(modes.Choices, params.ModeID) {
		return nil, errorf(codeInvalidParams, "session/set_mode: unknown mode %q", params.ModeID)
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	s.mode = params.ModeID
	return struct{}{}, nil
}

func (srv *server) setOption(m message) (any, error) {
	var params struct {
		SessionID string `json:"sessionId"`
		ConfigID  string `json:"configId"`
		Value     string `json:"value"`
	}
	if err := decode(m, &params); err != nil {
		return nil, err
	}
	s, err := srv.session(params.SessionID)
	if err != nil {
		return nil, err
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	i := slices.IndexFunc(s.options, func(o Option) bool { return o.ID == params.ConfigID })
	if i < 0 {
		return nil, errorf(codeInvalidParams, "session/set_config_option: unknown option %q", params.ConfigID)
	}
	if !offers(s.options[i].Choices, params.Value) {
		return nil, errorf(codeInvalidParams, "session/set_config_option: option %q has no value %q",
			params.ConfigID, params.Value)
	}
	s.options[i].Current = params.Value
	return map[string]any{"configOptions": wireOptions(s.options)}, nil
}

func offers(choices []Choice, id string) bool {
	return slices.ContainsFunc(choices, func(c Choice) bool { return c.ID == id })
}

// prompt starts the turn that answers the prompt.
func (srv *server) prompt(m message) (any, error) {
	var params struct {
		SessionID string            `json:"sessionId"`
		Prompt    []json.RawMessage `json:"prompt"`
	}
	if err := decode(m, &params); err != nil {
		return nil, err
	}
	if params.Prompt == nil {
		return nil, errorf(codeInvalidParams, "session/prompt: prompt is missing")
	}
	s, err := srv.session(params.SessionID)
	if err != nil {
		return nil, err
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if s.cancel != nil {
		return nil, errorf(codeInvalidRequest, "session/prompt: the previous turn has not ended")
	}
	turns := srv.script.Turns
	i := s.prompts
	s.prompts++
	switch {
	case i < len(turns):
	case srv.script.Repeat:
		i %= len(turns)
	default:
		const text = "prompt %d is past the end of the script (turns: %d; \"repeat\" is not set)"
		return nil, errorf(codeInternal, text, i+1, len(turns))
	}
	ctx, cancel := context.WithCancelCause(srv.ctx)
	s.cancel = cancel
	st := &stage{srv: srv, session: s, prompt: m.ID}
	s.then(srv, func() { st.turn(ctx, fmt.Sprintf("turns[%d]", i), turns[i]) })
	return nil, nil
}

// cancel cancels the turn of a session, if there is one.
func (srv *server) cancel(params json.RawMessage) {
	var p struct {
		SessionID string `json:"sessionId"`
	}
	if json.Unmarshal(params, &p) != nil {
		return // a notification has no answer
	}
	srv.mu.Lock()
	defer srv.mu.Unlock()
	if s := srv.sessions[p.SessionID]; s != nil && s.cancel != nil {
		s.cancel(errCancelled)
	}
}

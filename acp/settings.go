package acp

import (
	"context"
	"encoding/json"
	"slices"
	"strconv"
)

// learn keeps what an update says about modes and options.
func (s *Session) learn(u SessionUpdate) {
	switch u := u.(type) {
	case CurrentModeUpdate:
		s.setMode(u.CurrentModeID)
	case ConfigOptionUpdate:
		s.setOptions(u.ConfigOptions)
	}
}

func (s *Session) setMode(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.modes != nil {
		modes := *s.modes // callers of Modes have the old one
		modes.CurrentModeID = id
		s.modes = &modes
	}
}

func (s *Session) setOptions(options []ConfigOption) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options = options
}

// SetMode changes the session's mode. An agent without modes may offer them as a config option; that is then set. If the
// agent does not offer the mode, the error is a [*NotOfferedError].
func (s *Session) SetMode(ctx context.Context, id string) error {
	modes := s.Modes()
	if modes == nil {
		return s.setCategory(ctx, CategoryMode, id)
	}
	var offered []string
	for _, m := range modes.AvailableModes {
		offered = append(offered, m.ID)
	}
	if !slices.Contains(offered, id) {
		return &NotOfferedError{What: "mode", Wanted: id, Offered: offered}
	}
	req := SetSessionModeRequest{SessionID: s.id, ModeID: id}
	return s.client.conn.call(ctx, MethodSetMode, req, func(json.RawMessage) error {
		s.setMode(id)
		return nil
	})
}

// SetModel changes the session's model: the config option of category "model". If the agent does not offer the model, or
// no choice of models at all, the error is a [*NotOfferedError].
func (s *Session) SetModel(ctx context.Context, model string) error {
	return s.setCategory(ctx, CategoryModel, model)
}

// setCategory sets the first option of a category.
func (s *Session) setCategory(ctx context.Context, category ConfigOptionCategory, value string) error {
	for _, o := range s.ConfigOptions() {
		if o.Category == category {
			return s.setOption(ctx, o, string(category), value)
		}
	}
	return &NotOfferedError{What: string(category), Wanted: value}
}

// SetConfigOption changes a setting of the session to one of the values that the agent offers for it; of a boolean one to
// "true" or "false". If the agent does not offer the option or the value, the error is a [*NotOfferedError].
func (s *Session) SetConfigOption(ctx context.Context, id, value string) error {
	var offered []string
	for _, o := range s.ConfigOptions() {
		if o.ID == id {
			return s.setOption(ctx, o, "value of config option "+strconv.Quote(id), value)
		}
		offered = append(offered, o.ID)
	}
	return &NotOfferedError{What: "config option", Wanted: id, Offered: offered}
}

// setOption sets an option; what names the value in errors.
func (s *Session) setOption(ctx context.Context, o ConfigOption, what, value string) error {
	req := SetConfigOptionRequest{SessionID: s.id, ConfigID: o.ID, Value: value}
	var offered []string
	if o.Type == "boolean" {
		offered = []string{"false", "true"}
		req.Type, req.Value = o.Type, value == "true"
	}
	for _, c := range o.Choices() {
		offered = append(offered, c.Value)
	}
	if !slices.Contains(offered, value) {
		return &NotOfferedError{What: what, Wanted: value, Offered: offered}
	}
	return s.client.conn.call(ctx, MethodSetConfigOption, req, func(result json.RawMessage) error {
		var resp SetConfigOptionResponse
		if err := unmarshalValid(result, &resp); err != nil {
			return err
		}
		if resp.ConfigOptions != nil {
			s.setOptions(resp.ConfigOptions)
		}
		return nil
	})
}

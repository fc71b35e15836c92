package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Session is one session with an agent. It is made by [Client.NewSession]; its methods may be called concurrently, but
// it has one turn at a time.
type Session struct {
	id       string
	client   *Client
	activity chan struct{} // buffered; has a token if something happened since the last look

	mu      sync.Mutex
	busy    bool
	modes   *SessionModeState
	options []ConfigOption
	// cancelled is closed when the current turn, or the last one, is cancelled. It is nil before the first turn.
	cancelled chan struct{}
}

func newSession(c *Client, resp NewSessionResponse) *Session {
	return &Session{
		id: resp.SessionID, client: c, activity: make(chan struct{}, 1), modes: resp.Modes, options: resp.ConfigOptions,
	}
}

// ID returns the session's id, as the agent gave it.
func (s *Session) ID() string { return s.id }

// Modes returns the modes that the agent offers and the current one, nil if it has none.
func (s *Session) Modes() *SessionModeState {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.modes
}

// Mode returns the name of the current mode and the names of those that the agent offers: session modes or, if it has
// none, the values of its config option of category "mode". The name is the mode's id or, where that is a URL, what
// follows its last "#" or "/". Both are empty if the agent has neither.
func (s *Session) Mode() (current string, offered []string) {
	ids, currentID := s.modeIDs()
	for _, id := range ids {
		offered = append(offered, ModeName(id))
	}
	return ModeName(currentID), offered
}

// modeIDs returns the ids of the modes that the agent offers and that of the current one.
func (s *Session) modeIDs() (ids []string, current string) {
	if modes := s.Modes(); modes != nil {
		for _, m := range modes.AvailableModes {
			ids = append(ids, m.ID)
		}
		return ids, modes.CurrentModeID
	}
	for _, o := range s.ConfigOptions() {
		if o.Category == CategoryMode {
			for _, c := range o.Choices() {
				ids = append(ids, c.Value)
			}
			current, _ = o.CurrentValue.(string)
			break
		}
	}
	return ids, current
}

// ModeName returns the short name of a mode: its id or, where that is a URL, what follows the last "#" or "/".
func ModeName(id string) string {
	if strings.Contains(id, "://") {
		return id[strings.LastIndexAny(id, "#/")+1:]
	}
	return id
}

// ConfigOptions returns the options that the agent offers with their current values.
func (s *Session) ConfigOptions() []ConfigOption {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.options)
}

// Prompt runs one turn: it sends the blocks and returns when the agent has ended its turn, be it by an error, and has
// then been silent for [ClientConfig.DrainIdle], so that late updates are still passed to [ClientConfig.Update] before
// Prompt returns.
//
// When ctx ends, the turn is cancelled: the agent receives session/cancel, all its permission requests, those already
// waiting included, are answered as cancelled, and Prompt goes on waiting for the end of the turn, at most
// [ClientConfig.CancelGrace]. If the agent ends it, Prompt returns its response, usually with [StopCancelled], and no
// error; if not, the error is both [ErrCancelTimeout] and the cause of ctx, and nothing is left but to end the agent.
//
// Other errors are an [*Error] of the agent, [ErrBusy], and the reasons of [Client.Err].
func (s *Session) Prompt(ctx context.Context, blocks ...ContentBlock) (PromptResponse, error) {
	if err := ctx.Err(); err != nil {
		return PromptResponse{}, fmt.Errorf("acp: %s: %w", MethodPrompt, context.Cause(ctx))
	}
	if err := s.beginTurn(); err != nil {
		return PromptResponse{}, err
	}
	defer s.endTurn()

	var resp PromptResponse
	req := PromptRequest{SessionID: s.id, Prompt: blocks}
	turn, err := s.client.conn.begin(ctx, MethodPrompt, req, func(result json.RawMessage) error {
		return unmarshalValid(result, &resp)
	})
	if err != nil {
		return PromptResponse{}, err
	}
	select {
	case err = <-turn.done:
	case <-ctx.Done():
		err = s.cancel(ctx, turn)
	}
	if _, answered := errors.AsType[*Error](err); err == nil || answered {
		s.drain()
	}
	return resp, err
}

func (s *Session) beginTurn() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return ErrBusy
	}
	s.busy = true
	s.cancelled = make(chan struct{})
	return nil
}

func (s *Session) endTurn() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy = false
}

// cancel asks the agent to end the turn and waits for that.
func (s *Session) cancel(ctx context.Context, turn *call) error {
	select {
	case err := <-turn.done: // the turn has just ended by itself
		return err
	default:
	}
	close(s.turnCancelled())
	c := s.client
	grace, stop := context.WithTimeout(context.WithoutCancel(ctx), c.cfg.CancelGrace)
	defer stop()
	// Even if this cannot be written, the turn may still end, because the agent exits.
	_ = c.conn.sendNotification(grace, MethodCancel, CancelNotification{SessionID: s.id})
	select {
	case err := <-turn.done:
		return err
	case <-grace.Done():
		c.conn.abandon(turn)
		return fmt.Errorf("%w (cancelled because: %w)", ErrCancelTimeout, context.Cause(ctx))
	}
}

func (s *Session) turnCancelled() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cancelled
}

// permission decides a permission request of the agent.
func (s *Session) permission(ctx context.Context, req RequestPermissionRequest) (RequestPermissionResponse, error) {
	decide, cancelled := s.client.cfg.Permission, s.turnCancelled()
	if decide == nil || isClosed(cancelled) {
		return Cancelled(), nil
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var resp RequestPermissionResponse
	decided := make(chan error, 1)
	s.client.conn.served.Go(func() { // because decide need not heed its context
		var err error
		resp, err = guard(&s.client.conn, MethodRequestPermission, func() (RequestPermissionResponse, error) {
			return decide(ctx, req)
		})
		decided <- err
	})
	select {
	case <-cancelled:
		return Cancelled(), nil
	case err := <-decided:
		if err != nil || isClosed(cancelled) {
			return Cancelled(), err
		}
		return resp, checkOffered(req, resp)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// checkOffered returns an error if an option was selected that the request does not have.
func checkOffered(req RequestPermissionRequest, resp RequestPermissionResponse) error {
	if resp.Outcome.Outcome == "cancelled" {
		return nil
	}
	var offered []string
	for _, o := range req.Options {
		offered = append(offered, o.OptionID)
	}
	if slices.Contains(offered, resp.Outcome.OptionID) {
		return nil
	}
	return &NotOfferedError{What: "permission option", Wanted: resp.Outcome.OptionID, Offered: offered}
}

// touch notes that something happened in the session.
func (s *Session) touch() {
	select {
	case s.activity <- struct{}{}:
	default:
	}
}

// drain waits until nothing has happened in the session for DrainIdle, at most DrainMax.
func (s *Session) drain() {
	c := s.client
	if c.cfg.DrainIdle < 0 {
		return
	}
	end := time.NewTimer(c.cfg.DrainMax)
	defer end.Stop()
	idle := time.NewTimer(c.cfg.DrainIdle)
	defer idle.Stop()
	for {
		select {
		case <-s.activity:
			idle.Reset(c.cfg.DrainIdle)
		case <-idle.C:
			if c.conn.backlog.idle() {
				return
			}
			idle.Reset(c.cfg.DrainIdle)
		case <-end.C:
			return
		case <-c.conn.ended:
			return
		}
	}
}

// SetMode changes the session's mode, which is named as by [Session.Mode] or by its id. If the agent has no session
// modes, it sets the config option of category "mode" instead. If the agent does not offer the mode, the error is a
// [*NotOfferedError].
func (s *Session) SetMode(ctx context.Context, mode string) error {
	ids, _ := s.modeIDs()
	i := slices.IndexFunc(ids, func(id string) bool { return id == mode || ModeName(id) == mode })
	if i < 0 {
		_, offered := s.Mode()
		return &NotOfferedError{What: "mode", Wanted: mode, Offered: offered}
	}
	if s.Modes() == nil {
		return s.setCategory(ctx, CategoryMode, ids[i])
	}
	req := SetSessionModeRequest{SessionID: s.id, ModeID: ids[i]}
	return s.client.conn.call(ctx, MethodSetMode, req, func(json.RawMessage) error {
		s.setMode(ids[i])
		return nil
	})
}

// SetModel changes the session's model: the config option of category "model". If the agent does not offer the model,
// or no choice of models at all, the error is a [*NotOfferedError].
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

// SetConfigOption changes a setting of the session to one of the values that the agent offers for it; of a boolean one
// to "true" or "false". If the agent does not offer the option or the value, the error is a [*NotOfferedError].
func (s *Session) SetConfigOption(ctx context.Context, id, value string) error {
	var offered []string
	for _, o := range s.ConfigOptions() {
		if o.ID == id {
			return s.setOption(ctx, o, "config option "+strconv.Quote(id)+": value", value)
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

// apply stores what an update says about modes and options.
func (s *Session) apply(u SessionUpdate) {
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

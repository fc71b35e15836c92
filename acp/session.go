package acp

import "context"

// Session is one session with an agent. It is made by [Client.NewSession].
type Session struct{}

// ID returns the session's id, as the agent gave it.
func (s *Session) ID() string { panic("not written yet") }

// Modes returns the modes that the agent offers and the current one, nil if it has none.
func (s *Session) Modes() *SessionModeState { panic("not written yet") }

// ConfigOptions returns the options that the agent offers with their current values.
func (s *Session) ConfigOptions() []ConfigOption { panic("not written yet") }

// Prompt runs one turn.
func (s *Session) Prompt(ctx context.Context, blocks ...ContentBlock) (PromptResponse, error) {
	panic("not written yet")
}

// SetMode changes the session's mode to one that the agent offers, else it returns a [*NotOfferedError].
func (s *Session) SetMode(ctx context.Context, id string) error { panic("not written yet") }

// SetConfigOption changes an option to a value that the agent offers.
func (s *Session) SetConfigOption(ctx context.Context, id, value string) error {
	panic("not written yet")
}

// SetModel changes the session's model to one that the agent offers.
func (s *Session) SetModel(ctx context.Context, model string) error { panic("not written yet") }

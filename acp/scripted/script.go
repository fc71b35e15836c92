package scripted

// Script is what an agent does. The zero Script opens sessions and has no answer to any prompt.
type Script struct {
	// Name is how the agent calls itself; empty: "fake-acp".
	Name string `json:"name,omitempty"`
	// Version is the agent's own version; empty: "1".
	Version string `json:"version,omitempty"`
	// Auth names ways to authenticate. If there are any, sessions are refused until the client has used one.
	Auth []string `json:"auth,omitempty"`
	// Session is what every session offers.
	Session Session `json:"session,omitzero"`
	// Turns are the answers to the prompts of a session, in order.
	Turns []Turn `json:"turns,omitempty"`
	// Repeat starts again with the first turn after the last one. Without it a prompt past the last turn is answered
	// by an error.
	Repeat bool `json:"repeat,omitempty"`
	// Faults is what the agent does wrong all the time.
	Faults Faults `json:"faults,omitzero"`
}

// Session is what every session of a script offers, and what happens around its start.
type Session struct {
	// Modes are the modes to choose from; nil: none.
	Modes *Offer `json:"modes,omitempty"`
	// Models are the models to choose from, offered as a config option of category "model"; nil: none.
	Models *Offer `json:"models,omitempty"`
	// Options are further config options.
	Options []Option `json:"options,omitempty"`
	// Before is done before session/new is answered: a client does not know the session yet.
	Before []Action `json:"before,omitempty"`
	// After is done once session/new is answered, and before the first turn.
	After []Action `json:"after,omitempty"`
}

// Offer is a choice that the client has.
type Offer struct {
	// Current is the id of the choice at the start.
	Current string   `json:"current"`
	Choices []Choice `json:"choices"`
}

// Choice is a mode, a model or a value of an [Option].
type Choice struct {
	ID string `json:"id"`
	// Name is for people; empty: the id.
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
}

// Option is a config option of a session, of type "select".
type Option struct {
	ID string `json:"id"`
	// Name is for people; empty: the id.
	Name     string `json:"name,omitempty"`
	Category string `json:"category,omitempty"`
	// Current is the id of the choice at the start.
	Current string   `json:"current"`
	Choices []Choice `json:"choices"`
}

// Turn is the answer to one prompt.
type Turn struct {
	// Actions are done in order. One that fails ends the turn with an error response that says which and why; inside a
	// [Tool] it fails the tool call instead, and the turn goes on.
	Actions []Action `json:"actions,omitempty"`
	// Stop is the stop reason; empty: "end_turn".
	Stop string `json:"stop,omitempty"`
	// Tokens, if not nil, is what the response says the turn has used.
	Tokens *Tokens `json:"tokens,omitempty"`
	// Error, if not nil, is the answer after the actions, instead of a stop reason.
	Error *Error `json:"error,omitempty"`
	// OnCancel is done when the client cancels the turn, before the answer "cancelled".
	OnCancel []Action `json:"on_cancel,omitempty"`
	// IgnoreCancel goes on with the turn as though the client had not cancelled it.
	IgnoreCancel bool `json:"ignore_cancel,omitempty"`
	// After is done once the prompt is answered, and before the next turn: late updates, an exit.
	After []Action `json:"after,omitempty"`
}

// Tokens counts what a turn has used. Those after Total are left out if zero.
type Tokens struct {
	Input       int64 `json:"input"`
	Output      int64 `json:"output"`
	Total       int64 `json:"total"`
	Thought     int64 `json:"thought,omitempty"`
	CachedRead  int64 `json:"cached_read,omitempty"`
	CachedWrite int64 `json:"cached_write,omitempty"`
}

// Faults is what an agent does wrong all the time. What it does wrong once is an [Action].
type Faults struct {
	// Exit, if not nil, ends the agent with this code before it reads anything.
	Exit *int `json:"exit,omitempty"`
	// Stderr is how many bytes of noise go to standard error before anything is read; a large number blocks an agent
	// whose standard error is not drained.
	Stderr int `json:"stderr,omitempty"`
	// ProtocolVersion, if not zero, is what the agent says it speaks, whatever the client speaks.
	ProtocolVersion int `json:"protocol_version,omitempty"`
	// SplitWrites, if not zero, is how many bytes are written at once.
	SplitWrites int `json:"split_writes,omitempty"`
	// CRLF ends lines with "\r\n".
	CRLF bool `json:"crlf,omitempty"`
	// BlankLines writes an empty line before every message.
	BlankLines bool `json:"blank_lines,omitempty"`
	// Garbage, if not empty, is a line written before every message.
	Garbage string `json:"garbage,omitempty"`
	// RequestIDs says how the agent numbers its requests; empty: [CountIDs].
	RequestIDs RequestIDs `json:"request_ids,omitempty"`
	// IgnoreEOF goes on when standard input ends.
	IgnoreEOF bool `json:"ignore_eof,omitempty"`
	// IgnoreSIGTERM goes on after SIGTERM, which only a process of its own can ([Main]).
	IgnoreSIGTERM bool `json:"ignore_sigterm,omitempty"`
}

// RequestIDs is how an agent numbers its requests. Each side of a connection has its own ids, so all of these are
// legal, and clients that keep one table for both directions break.
type RequestIDs string

// The ways to number requests.
const (
	CountIDs  RequestIDs = "count"  // 0, 1, 2, as Claude does: sooner or later the same as the client's
	PromptIDs RequestIDs = "prompt" // the id of the prompt being answered, each time
	StringIDs RequestIDs = "string" // "request-0", "request-1"
)

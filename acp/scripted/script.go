package scripted

import (
	"time"
)

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
	// Repeat starts again with the first turn after the last one. Without it a prompt past the last turn is answered by
	// an error.
	Repeat bool `json:"repeat,omitempty"`
	// Faults is what the agent does wrong all the time.
	Faults Faults `json:"faults,omitzero"`
}

// Session is what every session of a script offers, and what the agent does around its start.
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
	// IgnoreCancel continues the turn as if the client had not cancelled it.
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

// Action is one thing that an agent does. Exactly one field is set; the types of the fields say what each does. In a
// file, it is an object with one member: {"say": {"text": "hello"}}.
//
// Paths that are not absolute are below the session's working directory; nothing else is done to them.
type Action struct {
	Say       *Say       `json:"say,omitempty"`
	Think     *Think     `json:"think,omitempty"`
	Plan      Plan       `json:"plan,omitzero"`
	Tool      *Tool      `json:"tool,omitempty"`
	Usage     *Usage     `json:"usage,omitempty"`
	Update    Update     `json:"update,omitzero"`
	Read      *Read      `json:"read,omitempty"`
	Write     *Write     `json:"write,omitempty"`
	Terminal  *Terminal  `json:"terminal,omitempty"`
	Request   *Request   `json:"request,omitempty"`
	DiskWrite *DiskWrite `json:"disk_write,omitempty"`
	Exec      *Exec      `json:"exec,omitempty"`
	Sleep     Sleep      `json:"sleep,omitempty"`

	Raw         Raw         `json:"raw,omitempty"`
	Flood       *Flood      `json:"flood,omitempty"`
	Silence     Silence     `json:"silence,omitempty"`
	StopReading StopReading `json:"stop_reading,omitempty"`
	Exit        *Exit       `json:"exit,omitempty"`
}

// Say sends text to the user.
type Say struct {
	Text string `json:"text"`
	// Chunks is the number of updates that the text comes in; 0: one.
	Chunks int `json:"chunks,omitempty"`
}

// Think sends reasoning.
type Think struct {
	Text string `json:"text"`
	// Chunks is the number of updates that the text comes in; 0: one.
	Chunks int `json:"chunks,omitempty"`
}

// Plan sends the whole plan.
type Plan []PlanEntry

// PlanEntry is one step of a [Plan].
type PlanEntry struct {
	Content string `json:"content"`
	// Priority is high, medium or low; empty: medium.
	Priority string `json:"priority,omitempty"`
	// Status is pending, in_progress or completed; empty: pending.
	Status string `json:"status,omitempty"`
}

// Tool is a tool call: it is announced, asks for permission if it should, does its actions, and ends.
type Tool struct {
	// ID is the call's id; empty: "call-1", "call-2" in the order of the session.
	ID string `json:"id,omitempty"`
	// Name is the tool's name for programs, which many agents do not give.
	Name string `json:"name,omitempty"`
	// Title is for people.
	Title string `json:"title"`
	// Kind is read, edit, execute or another of the protocol; empty: "other".
	Kind string `json:"kind,omitempty"`
	// Input is the arguments; any JSON value.
	Input any `json:"input,omitempty"`
	// Locations are the places that the call touches.
	Locations []Location `json:"locations,omitempty"`
	// Diff is the change that the call shows.
	Diff *Diff `json:"diff,omitempty"`
	// Ask, if not nil, asks for permission first.
	Ask *Ask `json:"ask,omitempty"`
	// Do is what the call does. An action that fails fails the call.
	Do []Action `json:"do,omitempty"`
	// Output is the result; nil: what the last of the actions read or printed.
	Output any `json:"output,omitempty"`
	// Status is how the call says that it ended; empty: "completed", or "failed" if an action failed.
	Status string `json:"status,omitempty"`
}

// Location is a place in a file.
type Location struct {
	Path string `json:"path"`
	// Line is 1-based; 0: not given.
	Line int `json:"line,omitempty"`
}

// Diff is a change to a file.
type Diff struct {
	Path string `json:"path"`
	// Old is nil for a new file.
	Old *string `json:"old,omitempty"`
	New string  `json:"new"`
}

// Ask asks the client for permission to go on with a tool call. If permission is denied, the call ends as "failed".
type Ask struct {
	// Options are the answers to choose from; empty: allow once and reject once, with the ids "allow" and "reject".
	Options []PermissionOption `json:"options,omitempty"`
	// First makes the request the first mention of its tool call, as Gemini does.
	First bool `json:"first,omitempty"`
	// Denied is done after the call was denied.
	Denied []Action `json:"denied,omitempty"`
}

// PermissionOption is an answer that the client can choose.
type PermissionOption struct {
	ID string `json:"id"`
	// Name is for people; empty: the id.
	Name string `json:"name,omitempty"`
	// Kind is allow_once, allow_always, reject_once or reject_always.
	Kind string `json:"kind"`
}

// Usage reports how full the context window is, and what the session has cost.
type Usage struct {
	Used int64 `json:"used"`
	Size int64 `json:"size"`
	// CostUSD is left out if zero.
	CostUSD float64 `json:"cost_usd,omitempty"`
}

// Update sends a session update as it is: "sessionUpdate" and what belongs to it.
type Update map[string]any

// Read reads a text file through the client.
type Read struct {
	Path string `json:"path"`
	// Line is the 1-based line to start at, Limit the number of lines; 0: not given.
	Line  int `json:"line,omitempty"`
	Limit int `json:"limit,omitempty"`
	// Optional ignores a missing file, and a client that serves no files.
	Optional bool `json:"optional,omitempty"`
}

// Write writes a text file through the client.
type Write struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Terminal runs a command through the client, waits for its end, takes its output and releases the terminal. An exit
// code other than 0 is not a failure.
type Terminal struct {
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	// Cwd is empty for the session's.
	Cwd string            `json:"cwd,omitempty"`
	Env map[string]string `json:"env,omitempty"`
	// OutputByteLimit is left out if zero.
	OutputByteLimit int64 `json:"output_byte_limit,omitempty"`
}

// Request sends any request to the client and waits for the answer. An error response is a failure.
type Request struct {
	Method string `json:"method"`
	Params any    `json:"params,omitempty"`
}

// DiskWrite writes a file in the agent's own process, as Claude and Codex do, and makes its parent directories.
type DiskWrite struct {
	Path string `json:"path"`
	Text string `json:"text"`
	// Executable sets the executable bits.
	Executable bool `json:"executable,omitempty"`
}

// Exec runs a command as a child of the agent's own process, in the session's working directory and with the agent's
// environment. An exit code other than 0 is not a failure; a command that cannot start is.
type Exec struct {
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
}

// Sleep waits for that long, or until the turn is cancelled. In a file it is written as "1.5s".
type Sleep time.Duration

// MarshalText returns s as "1.5s".
func (s Sleep) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// UnmarshalText reads the form of [time.ParseDuration].
func (s *Sleep) UnmarshalText(text []byte) error {
	d, err := time.ParseDuration(string(text))
	*s = Sleep(d)
	return err
}

// Raw writes a line as it is. The line's end is added.
type Raw string

// Flood sends updates of the agent's message as fast as they can be written. Their texts are "0", "1" and so on, filled
// up with dots.
type Flood struct {
	Updates int `json:"updates"`
	// Size is the length of each text in bytes, at least.
	Size int `json:"size,omitempty"`
}

// Silence waits until the connection ends, even if the turn is cancelled.
type Silence bool

// StopReading stops reading input: answers, cancellations and the end of input go unnoticed.
type StopReading bool

// Exit ends the agent at once.
type Exit struct {
	Code int `json:"code"`
}

package trajectory

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// Body is what an [Event] is about: one of [Prompt], [Message], [Thought], [Plan], [ToolStart], [ToolEnd], [FileRead],
// [FileWrite], [Terminal], [Permission], [MCPCall], [Notice], [State] and [Stop].
type Body interface {
	// EventName returns the event's name in cassettes, e.g. "tool_call".
	EventName() string
}

// Prompt is the prompt that the harness sent to the agent. It begins a turn.
type Prompt struct {
	Text string `json:"text"`
}

// Message is text the agent addressed to the user, its chunks joined.
type Message struct {
	Text string `json:"text"`
}

// Thought is the agent's reasoning, if the agent shows it, its chunks joined.
type Thought struct {
	Text string `json:"text"`
}

// Plan is the agent's list of what it plans to do. Each plan replaces the previous one.
type Plan struct {
	Entries []PlanEntry `json:"entries"`
}

// PlanEntry is one line of a [Plan].
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority,omitempty"` // high, medium, low
	Status   string `json:"status,omitempty"`   // pending, in_progress, completed
}

// ToolStart is the start of a tool call: the agent's first mention of it, with its final input.
type ToolStart struct {
	ID string `json:"id"`
	// Parent is the ID of the call that started the sub-agent which made this call. It is empty if the main agent made
	// it, or if the agent does not tell.
	Parent    string     `json:"parent,omitempty"`
	Name      string     `json:"name,omitempty"`
	Kind      string     `json:"kind,omitempty"`
	Title     string     `json:"title,omitempty"`
	Args      any        `json:"input,omitempty"`
	Locations []Location `json:"locations,omitempty"`
}

// Location is a place in a file that a tool call touches.
type Location struct {
	Path string `json:"path"`
	Line *int   `json:"line,omitempty"` // 1-based; nil: the file as a whole
}

// ToolEnd is the end of a tool call.
type ToolEnd struct {
	ID     string `json:"id"`
	Status Status `json:"status"`
	// Output is the raw output as decoded JSON if the agent gives one, else the text that it showed.
	Output any `json:"output,omitempty"`
	// Printed is what the call's command printed, if the agent shows it apart from the output.
	Printed  string `json:"printed,omitempty"`
	Diffs    []Diff `json:"diffs,omitempty"`
	ExitCode *int   `json:"exit_code,omitempty"`
}

// Diff is a change to one file as the agent shows it.
type Diff struct {
	Path string  `json:"path"`
	Old  *string `json:"old,omitempty"` // nil: a new file, or not given
	New  string  `json:"new"`
}

// FileRead is a file that the agent read through its client.
type FileRead struct {
	Path  string `json:"path"`
	Line  *int   `json:"line,omitempty"`
	Limit *int   `json:"limit,omitempty"`
	Text  string `json:"text,omitempty"`
	// Error is the text of the client's error, empty if it served the file.
	Error string `json:"error,omitempty"`
	// ErrorCode is the error's JSON-RPC code, 0 if the text determines it.
	ErrorCode int `json:"error_code,omitempty"`
}

// FileWrite is a file that the agent wrote through its client.
type FileWrite struct {
	Path      string `json:"path"`
	Text      string `json:"text,omitempty"`
	Error     string `json:"error,omitempty"`      // as that of FileRead
	ErrorCode int    `json:"error_code,omitempty"` // as that of FileRead
}

// Terminal is a command that the agent ran through its client.
type Terminal struct {
	ID        string   `json:"id,omitempty"`
	Command   string   `json:"command"`
	Args      []string `json:"args,omitempty"`
	Cwd       string   `json:"cwd,omitempty"`
	Env       []string `json:"env,omitempty"`    // names of the variables that the agent asked to add
	Output    string   `json:"output,omitempty"` // the output, as the agent last read it
	Truncated bool     `json:"truncated,omitempty"`
	ExitCode  *int     `json:"exit_code,omitempty"`
	Signal    string   `json:"signal,omitempty"`
	Error     string   `json:"error,omitempty"`      // as that of FileRead, if there was no terminal
	ErrorCode int      `json:"error_code,omitempty"` // as that of FileRead
	// Duration is the time from the request to the answer that told the agent of the command's exit; 0: unknown. It is
	// no part of the event's JSON: a cassette keeps it with the times.
	Duration time.Duration `json:"-"`
}

// Permission is the agent's request for permission, and the client's answer.
type Permission struct {
	// ID is the tool call it is about.
	ID string `json:"id"`
	// Asked describes the call as the agent did when it asked, nil if its [ToolStart] says the same.
	Asked    *AskedCall         `json:"asked,omitempty"`
	Options  []PermissionOption `json:"options"`
	Decision string             `json:"decision"` // an option's ID, or "cancelled"
}

// AskedCall describes a tool call at the time when the agent asks for permission. Agents may change it later.
type AskedCall struct {
	Name  string `json:"name,omitempty"`
	Title string `json:"title,omitempty"` // only of a call without arguments
	Args  any    `json:"input,omitempty"`
}

// PermissionOption is one answer that the agent offered.
type PermissionOption struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	Kind string `json:"kind"` // allow_once, allow_always, reject_once, reject_always
}

// MCPCall is a request of the agent to an MCP server of the playbook, and the response, as seen by the proxy between
// them. It is not a tool call itself: agents report those as [ToolStart] and [ToolEnd].
type MCPCall struct {
	Server string `json:"server"`
	Method string `json:"method"` // e.g. "tools/call"
	// Tool is the tool that tools/call names, empty for other methods.
	Tool string `json:"tool,omitempty"`
	// Params are the tool's arguments, and for other methods the parameters without those of the protocol (_meta).
	Params any       `json:"params,omitempty"`
	Result any       `json:"result,omitempty"` // decoded JSON; nil if there is an error
	Error  *MCPError `json:"error,omitempty"`
}

// IsDiscovery reports whether the request sets the server up or asks what it offers. Agents send such requests at any
// time, even twice, so they say nothing about their behaviour.
func (c MCPCall) IsDiscovery() bool {
	switch c.Method {
	case "initialize", "server/discover", "tools/list", "resources/list", "resources/templates/list",
		"prompts/list", "logging/setLevel":
		return true
	}
	return false
}

// MCPError is the error with which a server responds to a request. The failure of a tool is not an MCPError but a
// result with isError.
type MCPError struct {
	Code    int64  `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

// Notice is any other message of the agent, unchanged.
type Notice struct {
	// Name is the method, or "session/update:" and the name of the update.
	Name string `json:"name"`
	Data any    `json:"data,omitempty"`
}

// State is what the agent reported about its session during a turn. There is one per turn, with the last values,
// because agents send these in no fixed order.
type State struct {
	Title    string            `json:"title,omitempty"`
	Mode     string            `json:"mode,omitempty"`
	Commands []string          `json:"commands,omitempty"`
	Options  map[string]string `json:"options,omitempty"` // config option id to its value
	// ContextUsed and ContextSize are in tokens, nil if not reported.
	ContextUsed *int64 `json:"context_used,omitempty"`
	ContextSize *int64 `json:"context_size,omitempty"`
	// Cost is the session's cumulative cost, nil if not reported.
	Cost *Cost `json:"cost,omitempty"`
}

// Cost is an amount of money.
type Cost struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"` // ISO 4217
}

// Stop is the end of a turn.
type Stop struct {
	// Reason is end_turn, max_tokens, max_turn_requests, refusal or cancelled, after the Agent Client Protocol.
	Reason string `json:"reason"`
	// Usage is the turn's token usage, nil if the agent reports none.
	Usage *Usage `json:"usage,omitempty"`
}

// Usage counts tokens. A nil count is unknown, not zero.
type Usage struct {
	Input      *int64 `json:"input,omitempty"`
	Output     *int64 `json:"output,omitempty"`
	CacheRead  *int64 `json:"cache_read,omitempty"`
	CacheWrite *int64 `json:"cache_write,omitempty"`
	Thought    *int64 `json:"thought,omitempty"`
	Total      *int64 `json:"total,omitempty"`
}

func (Prompt) EventName() string     { return "prompt" }
func (Message) EventName() string    { return "message" }
func (Thought) EventName() string    { return "thought" }
func (Plan) EventName() string       { return "plan" }
func (ToolStart) EventName() string  { return "tool_call" }
func (ToolEnd) EventName() string    { return "tool_result" }
func (FileRead) EventName() string   { return "file_read" }
func (FileWrite) EventName() string  { return "file_write" }
func (Terminal) EventName() string   { return "terminal" }
func (Permission) EventName() string { return "permission" }
func (MCPCall) EventName() string    { return "mcp" }
func (Notice) EventName() string     { return "notice" }
func (State) EventName() string      { return "state" }
func (Stop) EventName() string       { return "stop" }

// bodies decode the fields of each event, by its name.
var bodies = map[string]func(decode func(v any) error) (Body, error){
	Prompt{}.EventName():     decodeBody[Prompt],
	Message{}.EventName():    decodeBody[Message],
	Thought{}.EventName():    decodeBody[Thought],
	Plan{}.EventName():       decodeBody[Plan],
	ToolStart{}.EventName():  decodeBody[ToolStart],
	ToolEnd{}.EventName():    decodeBody[ToolEnd],
	FileRead{}.EventName():   decodeBody[FileRead],
	FileWrite{}.EventName():  decodeBody[FileWrite],
	Terminal{}.EventName():   decodeBody[Terminal],
	Permission{}.EventName(): decodeBody[Permission],
	MCPCall{}.EventName():    decodeBody[MCPCall],
	Notice{}.EventName():     decodeBody[Notice],
	State{}.EventName():      decodeBody[State],
	Stop{}.EventName():       decodeBody[Stop],
}

func decodeBody[T Body](decode func(v any) error) (Body, error) {
	var b T
	err := decode(&b)
	return b, err
}

// DecodeBody returns the body of the event with this name. The function decode must store the event's fields in v, a
// pointer to a struct.
func DecodeBody(name string, decode func(v any) error) (Body, error) {
	body, ok := bodies[name]
	if !ok {
		return nil, fmt.Errorf("unknown event %q", name)
	}
	b, err := body(decode)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", name, err)
	}
	return b, nil
}

// eventHead has the fields of every event in JSON. The fields of its body follow.
type eventHead struct {
	Event string `json:"event"`
	Turn  int    `json:"turn"`
	At    int64  `json:"at_us"` // microseconds
}

// MarshalJSON implements [json.Marshaler]: one object with the event's name, its turn, its time in microseconds and the
// fields of its body.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Body == nil {
		return nil, errors.New("an event has no body")
	}
	head, err := json.Marshal(eventHead{Event: e.Body.EventName(), Turn: e.Turn, At: e.At.Microseconds()})
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(e.Body)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", e.Body.EventName(), err)
	}
	if len(body) > len("{}") {
		head = append(append(head[:len(head)-1], ','), body[1:]...)
	}
	return head, nil
}

// UnmarshalJSON implements [json.Unmarshaler]. Numbers in values of any type keep their text, as [json.Number].
func (e *Event) UnmarshalJSON(data []byte) error {
	var head eventHead
	if err := json.Unmarshal(data, &head); err != nil {
		return err
	}
	body, err := DecodeBody(head.Event, func(v any) error { return jsonvalue.Decode(data, v) })
	if err != nil {
		return err
	}
	*e = Event{Turn: head.Turn, At: time.Duration(head.At) * time.Microsecond, Body: body}
	return nil
}

package acp

import "encoding/json"

// ToolCall tells that the agent calls a tool. Agents may send it again with the same id: it then replaces what is known.
type ToolCall struct {
	ToolCallID string `json:"toolCallId" acp:"required"`
	// Title is for people.
	Title string `json:"title"`
	// Name is the tool's name for programs; many agents give none.
	Name string `json:"name,omitzero"`
	// Kind is empty if the agent gives none, which means "other".
	Kind ToolKind `json:"kind,omitzero"`
	// Status is empty if the agent gives none, which means "pending".
	Status    ToolCallStatus     `json:"status,omitzero"`
	Content   []ToolCallContent  `json:"content,omitzero"`
	Locations []ToolCallLocation `json:"locations,omitzero"`
	// RawInput and RawOutput are the tool's arguments and result as JSON, nil if absent.
	RawInput  json.RawMessage `json:"rawInput,omitzero"`
	RawOutput json.RawMessage `json:"rawOutput,omitzero"`
	Extra
}

// ToolCallUpdate changes what is known of a tool call. Its fields are nil if the update does not mention them or has
// them as null, which the protocol treats alike; those nulls are in Unknown. A slice that is empty but not nil clears
// what was there. A raw null in RawInput or RawOutput was on the wire.
type ToolCallUpdate struct {
	ToolCallID string             `json:"toolCallId" acp:"required"`
	Title      *string            `json:"title,omitzero"`
	Name       *string            `json:"name,omitzero"`
	Kind       *ToolKind          `json:"kind,omitzero"`
	Status     *ToolCallStatus    `json:"status,omitzero"`
	Content    []ToolCallContent  `json:"content,omitzero"`
	Locations  []ToolCallLocation `json:"locations,omitzero"`
	RawInput   json.RawMessage    `json:"rawInput,omitzero"`
	RawOutput  json.RawMessage    `json:"rawOutput,omitzero"`
	Extra
}

// ToolKind is the category of a tool.
type ToolKind string

// The kinds of tools of the protocol.
const (
	KindRead       ToolKind = "read"
	KindEdit       ToolKind = "edit"
	KindDelete     ToolKind = "delete"
	KindMove       ToolKind = "move"
	KindSearch     ToolKind = "search"
	KindExecute    ToolKind = "execute"
	KindThink      ToolKind = "think"
	KindFetch      ToolKind = "fetch"
	KindSwitchMode ToolKind = "switch_mode"
	KindOther      ToolKind = "other"
)

// ToolCallStatus is the state of a tool call. An agent's "completed" does not mean that the tool succeeded.
type ToolCallStatus string

// The states of a tool call of the protocol.
const (
	StatusPending    ToolCallStatus = "pending"
	StatusInProgress ToolCallStatus = "in_progress"
	StatusCompleted  ToolCallStatus = "completed"
	StatusFailed     ToolCallStatus = "failed"
)

// ToolCallLocation is a place in a file that a tool call touches.
type ToolCallLocation struct {
	Path string `json:"path" acp:"required"`
	// Line is 1-based, nil if not given.
	Line *int `json:"line,omitzero"`
	Extra
}

// ToolCallContent is something a tool call has to show: [Content], [Diff], [Terminal], or [Other].
type ToolCallContent interface {
	// OutputType returns the value of "type" on the wire, e.g. "diff".
	OutputType() string
}

// Content is a content block that a tool call shows.
type Content struct {
	Content ContentBlock `json:"content" acp:"required"`
	Extra
}

// Diff is a change to one file.
type Diff struct {
	Path string `json:"path" acp:"required"`
	// OldText is nil for a new file, or if the agent does not give it.
	OldText *string `json:"oldText,omitzero"`
	NewText string  `json:"newText" acp:"required"`
	Extra
}

// Terminal shows the output of a terminal that the agent created through its client.
type Terminal struct {
	TerminalID string `json:"terminalId" acp:"required"`
	Extra
}

// OutputType returns "content".
func (Content) OutputType() string { return "content" }

// OutputType returns "diff".
func (Diff) OutputType() string { return "diff" }

// OutputType returns "terminal".
func (Terminal) OutputType() string { return "terminal" }

// RequestPermissionRequest asks the client whether the agent may do something. Method: session/request_permission.
type RequestPermissionRequest struct {
	SessionID string `json:"sessionId" acp:"required"`
	// ToolCall is what it is about; some agents mention a tool call here first.
	ToolCall ToolCallUpdate     `json:"toolCall" acp:"required"`
	Options  []PermissionOption `json:"options"`
	Extra
}

// PermissionOption is an answer that the agent offers.
type PermissionOption struct {
	OptionID string               `json:"optionId" acp:"required"`
	Name     string               `json:"name"`
	Kind     PermissionOptionKind `json:"kind"`
	Extra
}

// PermissionOptionKind is the meaning of a [PermissionOption].
type PermissionOptionKind string

// The kinds of permission options of the protocol.
const (
	AllowOnce    PermissionOptionKind = "allow_once"
	AllowAlways  PermissionOptionKind = "allow_always"
	RejectOnce   PermissionOptionKind = "reject_once"
	RejectAlways PermissionOptionKind = "reject_always"
)

// RequestPermissionResponse is the client's answer to [RequestPermissionRequest]. Make one with [Selected] or
// [Cancelled].
type RequestPermissionResponse struct {
	Outcome PermissionOutcome `json:"outcome" acp:"required"`
	Extra
}

// PermissionOutcome is what was decided.
type PermissionOutcome struct {
	// Outcome is "selected" or "cancelled".
	Outcome string `json:"outcome" acp:"required"`
	// OptionID is the chosen option's id if Outcome is "selected".
	OptionID string `json:"optionId,omitzero"`
	Extra
}

// Selected returns the answer that chooses the option with that id.
func Selected(optionID string) RequestPermissionResponse {
	return RequestPermissionResponse{Outcome: PermissionOutcome{Outcome: "selected", OptionID: optionID}}
}

// Cancelled returns the answer to a request whose turn was cancelled, or that cannot be decided.
func Cancelled() RequestPermissionResponse {
	return RequestPermissionResponse{Outcome: PermissionOutcome{Outcome: "cancelled"}}
}

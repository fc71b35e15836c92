package acp

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// Codes of JSON-RPC and of the protocol for [Error].
const (
	CodeParse            = -32700 // the message is not JSON
	CodeInvalidRequest   = -32600 // the message is not a request
	CodeMethodNotFound   = -32601
	CodeInvalidParams    = -32602
	CodeInternal         = -32603
	CodeAuthRequired     = -32000
	CodeResourceNotFound = -32002
	CodeRequestCancelled = -32800
)

// Error is an error response from the other side, or one that a handler wants to send to it.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	// Data holds further details, nil if there are none.
	Data json.RawMessage `json:"data,omitzero"`
	Extra
}

// Error returns code, message and data.
func (e *Error) Error() string {
	if len(e.Data) == 0 {
		return fmt.Sprintf("error %d: %s", e.Code, e.Message)
	}
	return fmt.Sprintf("error %d: %s (%s)", e.Code, e.Message, excerpt.Head(string(e.Data), 512))
}

// MarshalJSON encodes e as the package describes.
func (e Error) MarshalJSON() ([]byte, error) { return marshal(e) }

// UnmarshalJSON decodes e as the package describes.
func (e *Error) UnmarshalJSON(data []byte) error { return unmarshal(data, e) }

// Reasons why a connection ends; see [Client.Err].
var (
	// ErrClosed means that Close was called.
	ErrClosed = errors.New("acp: the client was closed")
	// ErrEnded means that the agent closed its output, or exited.
	ErrEnded = errors.New("acp: the agent closed its output")
	// ErrLineTooLong means that the agent wrote a line longer than [ClientConfig.MaxLine].
	ErrLineTooLong = errors.New("acp: line too long")
	// ErrBacklog means that the agent sent more than [ClientConfig.MaxBacklog] bytes of updates for sessions that it
	// had not yet announced.
	ErrBacklog = errors.New("acp: too many updates for sessions not announced yet")
	// ErrStalled means that the agent did not read its input for [ClientConfig.WriteTimeout].
	ErrStalled = errors.New("acp: the agent does not read its input")
)

// Reasons why a received line is not a message; see [Frame.Err].
var (
	// ErrBlank means that the line was empty or white space.
	ErrBlank = errors.New("acp: blank line")
	// ErrNotJSON means that the line was not one JSON value.
	ErrNotJSON = errors.New("acp: line is not JSON")
	// ErrNotMessage means that the line was JSON but neither request, notification nor response.
	ErrNotMessage = errors.New("acp: line is not a JSON-RPC message")
)

// ErrBusy means that a session was prompted while it still had a turn.
var ErrBusy = errors.New("acp: the session already has a turn in progress")

// ErrCancelTimeout means that an agent did not end its turn within [ClientConfig.CancelGrace] of being asked to.
var ErrCancelTimeout = errors.New("acp: the agent did not end its turn when cancelled")

// VersionError means that the agent answered initialize with a protocol version that this package does not support.
type VersionError struct {
	Got int
}

// Error names the version of each side.
func (e *VersionError) Error() string {
	const text = "acp: the agent requires protocol version %d; this client supports only %d"
	return fmt.Sprintf(text, e.Got, ProtocolVersion)
}

// NotOfferedError means that a mode, a config option or a value was asked for that the session did not offer.
type NotOfferedError struct {
	What    string   // "mode", "model", "config option", `config option "x": value`
	Wanted  string   // what was asked for
	Offered []string // what the agent offers; may be empty
}

// Error names what was wanted and what is offered.
func (e *NotOfferedError) Error() string {
	if len(e.Offered) == 0 {
		return fmt.Sprintf("acp: %s %q is not offered: the agent offers none", e.What, e.Wanted)
	}
	offered := make([]string, len(e.Offered))
	for i, o := range e.Offered {
		offered[i] = strconv.Quote(o)
	}
	return fmt.Sprintf("acp: %s %q is not offered: the agent offers %s", e.What, e.Wanted, strings.Join(offered, ", "))
}

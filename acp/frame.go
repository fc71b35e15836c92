package acp

import (
	"encoding/json"
	"time"
)

// Direction says who sent a [Frame].
type Direction string

// The directions of a connection.
const (
	ToAgent  Direction = "client->agent"
	ToClient Direction = "agent->client"
)

// Frame is one line of a connection, as it was on the wire: the truth from which every typed view is decoded.
type Frame struct {
	// Time is when the line had been read, or when it was about to be written.
	Time      time.Time
	Direction Direction
	// Raw is the line without its line end ("\n" or "\r\n"). It must not be changed.
	Raw []byte
	// Err says why the line is no message: [ErrBlank], [ErrNotJSON], [ErrNotMessage] or [ErrLineTooLong] (Raw is then
	// only the line's beginning). It is nil for messages, and for all frames to the agent.
	Err error
}

// ID is the id of a request: the JSON text of a number, a string or null. The zero value means that there is none,
// which is not the same as null. Each direction has ids of its own.
type ID string

// Message is the envelope of JSON-RPC: a request has Method and ID, a notification has Method only, a response has no
// Method but ID and either Result or Error.
type Message struct {
	Version string          `json:"jsonrpc"`
	ID      ID              `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
	Extra
}

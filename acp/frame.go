package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// Direction says who sent a [Frame].
type Direction string

// The directions of a connection.
const (
	ToAgent  Direction = "client->agent"
	ToClient Direction = "agent->client"
)

func (d Direction) opposite() Direction {
	if d == ToAgent {
		return ToClient
	}
	return ToAgent
}

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

// MarshalJSON returns the id's JSON text, null for the zero value.
func (id ID) MarshalJSON() ([]byte, error) { return json.RawMessage(id).MarshalJSON() }

// UnmarshalJSON takes the text of a number, a string or null.
func (id *ID) UnmarshalJSON(data []byte) error {
	if s := (&scanner{data: bytes.Clone(data)}); !json.Valid(data) || !id.decode(s) {
		return fmt.Errorf("acp: decode ID: want a number, a string or null, got %q", excerpt.Head(string(data), 64))
	}
	return nil
}

// Message is the envelope of JSON-RPC: a request has Method and ID, a notification has Method only, a response has no
// Method but ID and either Result or Error.
type Message struct {
	Version string          `json:"jsonrpc"`
	ID      ID              `json:"id,omitzero"`
	Method  string          `json:"method,omitzero"`
	Params  json.RawMessage `json:"params,omitzero"`
	Result  json.RawMessage `json:"result,omitzero"`
	Error   *Error          `json:"error,omitzero"`
	Extra
}

// MarshalJSON encodes m as the package describes.
func (m Message) MarshalJSON() ([]byte, error) { return marshal(m) }

// UnmarshalJSON decodes m as the package describes.
func (m *Message) UnmarshalJSON(data []byte) error { return unmarshal(data, m) }

// ParseMessage decodes the envelope of a line, as leniently as the schema's types. It returns [ErrBlank], [ErrNotJSON] or
// [ErrNotMessage] for a line that is no message. The message shares memory with the line.
func ParseMessage(line []byte) (Message, error) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return Message{}, ErrBlank
	}
	if !json.Valid(line) {
		return Message{}, ErrNotJSON
	}
	var m Message
	if err := unmarshalValid(line, &m); err != nil {
		return Message{}, ErrNotMessage
	}
	if _, bad := m.Unknown["id"]; bad || m.Method == "" && m.ID == "" {
		return Message{}, ErrNotMessage
	}
	if raw, bad := m.Unknown["error"]; bad && string(raw) != "null" {
		m.Error = &Error{Code: CodeInternal, Message: "the other side sent an error that is not an object", Data: raw}
	}
	return m, nil
}

// IsRequest reports whether m asks for a response.
func (m Message) IsRequest() bool { return m.Method != "" && m.ID != "" }

// IsNotification reports whether m is a notification.
func (m Message) IsNotification() bool { return m.Method != "" && m.ID == "" }

// IsResponse reports whether m answers a request.
func (m Message) IsResponse() bool { return m.Method == "" }

package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
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
	// Err says why the line is not a message: [ErrBlank], [ErrNotJSON], [ErrNotMessage] or [ErrLineTooLong] (Raw is
	// then only the line's beginning). It is nil for messages, and for all frames to the agent.
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

// ParseMessage decodes the envelope of a line, as leniently as the schema's types. It returns [ErrBlank], [ErrNotJSON]
// or [ErrNotMessage] for a line that is not a message. The message shares memory with the line.
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

// View is the typed view of a frame. It has everything that the frame has: what no field holds is in an [Extra].
type View struct {
	// Method is the method of the request or notification or, for a response, of the request that it answers: "" if
	// there was no such request.
	Method string
	// ID is the id of the request or response, "" for a notification.
	ID ID
	// Response says that the frame is a response.
	Response bool
	// Body is the typed params of a request or notification, or the typed result of a response, as a value: a
	// [PromptRequest], a [PromptResponse], a [SessionNotification]. It is a json.RawMessage where the method has no
	// type here or the type's required fields are missing, and nil where the message has neither params nor result.
	Body any
	// Error is what a response reports instead of a result.
	Error *Error
	Extra
}

// Decoder makes typed views of the frames of one connection. It remembers the requests of both directions, so that a
// result gets the type that belongs to its request; the frames must come in the order of the connection. The zero value
// is ready to use.
type Decoder struct {
	requests map[requestKey]string // to the method
}

type requestKey struct {
	from Direction
	id   ID
}

// View returns the view of f. The error is that of [ParseMessage]; the view is then empty.
func (d *Decoder) View(f Frame) (View, error) {
	m, err := ParseMessage(f.Raw)
	if err != nil {
		return View{}, err
	}
	v := View{Method: m.Method, ID: m.ID, Response: m.IsResponse(), Error: m.Error, Extra: m.Extra}
	own, other, otherName := m.Params, m.Result, "result"
	typ := methods[m.Method].params
	if v.Response {
		key := requestKey{f.Direction.opposite(), m.ID}
		v.Method = d.requests[key]
		delete(d.requests, key)
		own, other, otherName = m.Result, m.Params, "params"
		typ = methods[v.Method].result
	} else if m.IsRequest() {
		d.remember(requestKey{f.Direction, m.ID}, m.Method)
	}
	v.Body = body(typ, own)
	if other != nil {
		v.keep(otherName, other)
	}
	if _, bad := v.Unknown["jsonrpc"]; !bad && m.Version != "2.0" {
		version, err := json.Marshal(m.Version)
		if err != nil {
			return View{}, err
		}
		v.keep("jsonrpc", version)
	}
	return v, nil
}

func (d *Decoder) remember(key requestKey, method string) {
	if d.requests == nil {
		d.requests = make(map[requestKey]string)
	}
	d.requests[key] = method
}

// body decodes raw, which is valid JSON or nil, to a typ. It returns raw if typ is nil or raw does not fit it, and nil
// if raw is nil.
func body(typ reflect.Type, raw json.RawMessage) any {
	if raw == nil {
		return nil
	}
	if typ == nil {
		return raw
	}
	v := reflect.New(typ)
	if err := unmarshalValid(raw, v.Interface()); err != nil {
		return raw
	}
	return v.Elem().Interface()
}

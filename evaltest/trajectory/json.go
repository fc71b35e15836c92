package trajectory

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

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

// DecodeBody returns the body of the event with that name. Decode stores its fields in the struct that it is given.
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

// eventHead is what every event has in JSON, before the fields of its body.
type eventHead struct {
	Event string `json:"event"`
	Turn  int    `json:"turn"`
	At    int64  `json:"at_us"` // microseconds
}

// MarshalJSON implements [json.Marshaler]: one object with the event's name, its turn, its time in microseconds and the
// fields of its body.
func (e Event) MarshalJSON() ([]byte, error) {
	if e.Body == nil {
		return nil, errors.New("an event without a body")
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

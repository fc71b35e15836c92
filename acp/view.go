package acp

import (
	"encoding/json"
	"reflect"
)

// View is the typed view of a frame. It has everything the frame has: anything without a field is in an [Extra], or
// raw.
type View struct {
	// Method is that of the request or notification; of a response, that of the request it answers, "" if there was none.
	Method string
	// ID is that of the request or response, "" for a notification.
	ID ID
	// Response says that the frame is a response.
	Response bool
	// Body is the typed params of a request or notification, or the typed result of a response, as a value: a
	// [PromptRequest], a [PromptResponse], a [SessionNotification]. It is a json.RawMessage where the method has no type
	// here or the type's required fields are missing, and nil where the message has neither params nor result.
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

// body decodes raw, which is valid JSON or nil, to a typ. It returns raw if there is no type or it does not fit, and nil
// for nil.
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

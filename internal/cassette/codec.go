package cassette

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// The keys that a line can begin with; they say what it is.
const (
	headerKey  = "cassette"
	turnKey    = "turn"
	eventKey   = "event"
	changeKey  = "change"
	timingsKey = "timings"
	totalsKey  = "totals"
)

// turnLine begins a turn.
type turnLine struct {
	Turn int `json:"turn"`
}

// timingsLine has the time of each event of the session, in order, in microseconds since the session began. It is one
// line, so that it is one line that differs between two recordings of the same behaviour.
type timingsLine struct {
	Timings []int64 `json:"timings"`
}

// changeLine is a [workspace.Change]. Text and Base64 are two ways to write a file's content.
type changeLine struct {
	Op       workspace.Op   `json:"change"`
	Path     string         `json:"path"`
	Kind     workspace.Kind `json:"kind"`
	Exec     bool           `json:"exec,omitempty"`
	ModeOnly bool           `json:"mode_only,omitempty"`
	Target   string         `json:"target,omitempty"`
	Ignored  bool           `json:"ignored,omitempty"`
	Digest   string         `json:"digest,omitempty"`
	Text     *string        `json:"text,omitempty"`
	Base64   *string        `json:"base64,omitempty"`
}

func lineOf(c workspace.Change) changeLine {
	l := changeLine{
		Op: c.Op, Path: c.Path, Kind: c.Kind, Exec: c.Exec, ModeOnly: c.ModeOnly, Target: c.Target, Ignored: c.Ignored, Digest: c.Digest,
	}
	if c.Kind != workspace.File || c.Op == workspace.Deleted || c.ModeOnly || c.Ignored {
		return l
	}
	if text := string(c.Data); utf8.ValidString(text) {
		l.Text = &text
	} else {
		text := base64.StdEncoding.EncodeToString(c.Data)
		l.Base64 = &text
	}
	return l
}

func (l changeLine) change() (workspace.Change, error) {
	c := workspace.Change{
		Path: l.Path, Op: l.Op, Kind: l.Kind, Exec: l.Exec, ModeOnly: l.ModeOnly, Target: l.Target, Ignored: l.Ignored, Digest: l.Digest,
	}
	switch {
	case l.Text != nil && l.Base64 != nil:
		return c, errors.New("a change has both text and base64")
	case l.Text != nil:
		c.Data = []byte(*l.Text)
	case l.Base64 != nil:
		data, err := base64.StdEncoding.DecodeString(*l.Base64)
		if err != nil {
			return c, err
		}
		c.Data = data
	}
	return c, nil
}

// appendJSON appends v as one line. Text stays readable: HTML is not escaped.
func appendJSON(b []byte, v any) ([]byte, error) {
	buf := bytes.NewBuffer(b)
	enc := json.NewEncoder(buf)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return buf.Bytes(), err
}

// appendEvent appends an event's line: its name, then the fields of its body.
func appendEvent(b []byte, body trajectory.Body) ([]byte, error) {
	b = fmt.Appendf(b, `{"%s":"%s",`, eventKey, body.EventName())
	at := len(b)
	b, err := appendJSON(b, body)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", body.EventName(), err)
	}
	if string(b[at:]) == "{}\n" {
		return append(b[:at-1], "}\n"...), nil
	}
	return append(b[:at], b[at+1:]...), nil
}

// key returns the first key of a line.
func key(line []byte) string {
	rest, ok := bytes.CutPrefix(line, []byte(`{"`))
	if !ok {
		return ""
	}
	k, _, ok := bytes.Cut(rest, []byte(`":`))
	if !ok {
		return ""
	}
	return string(k)
}

// decodeEvent decodes an event's line, which it may change.
func decodeEvent(line []byte) (trajectory.Body, error) {
	rest := line[len(`{"`+eventKey+`":"`):]
	end := bytes.IndexByte(rest, '"')
	if end < 0 || end+1 >= len(rest) {
		return nil, errors.New("an event without a name")
	}
	name, fields := string(rest[:end]), rest[end+1:]
	if fields[0] == ',' {
		fields[0] = '{'
	} else {
		fields = []byte("{}")
	}
	decode, ok := bodies[name]
	if !ok {
		return nil, fmt.Errorf("unknown event %q", name)
	}
	body, err := decode(fields)
	if err != nil {
		return nil, fmt.Errorf("event %s: %w", name, err)
	}
	return body, nil
}

// bodies decode the fields of each event.
var bodies = map[string]func([]byte) (trajectory.Body, error){
	trajectory.Prompt{}.EventName():     decodeBody[trajectory.Prompt],
	trajectory.Message{}.EventName():    decodeBody[trajectory.Message],
	trajectory.Thought{}.EventName():    decodeBody[trajectory.Thought],
	trajectory.Plan{}.EventName():       decodeBody[trajectory.Plan],
	trajectory.ToolStart{}.EventName():  decodeBody[trajectory.ToolStart],
	trajectory.ToolEnd{}.EventName():    decodeBody[trajectory.ToolEnd],
	trajectory.FileRead{}.EventName():   decodeBody[trajectory.FileRead],
	trajectory.FileWrite{}.EventName():  decodeBody[trajectory.FileWrite],
	trajectory.Terminal{}.EventName():   decodeBody[trajectory.Terminal],
	trajectory.Permission{}.EventName(): decodeBody[trajectory.Permission],
	trajectory.Notice{}.EventName():     decodeBody[trajectory.Notice],
	trajectory.State{}.EventName():      decodeBody[trajectory.State],
	trajectory.Stop{}.EventName():       decodeBody[trajectory.Stop],
}

func decodeBody[T trajectory.Body](fields []byte) (trajectory.Body, error) {
	var b T
	err := decodeStrict(fields, &b)
	return b, err
}

// decodeStrict decodes one JSON value. We wrote these files: a field that we do not know is none of ours. Numbers in
// values of any type keep their text.
func decodeStrict(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("more than one JSON value")
	}
	return nil
}

package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// The largest payload that is captured, and how much more is read, so that the agent can write it to the end.
const (
	maxPayload = 16 << 20
	maxDrained = 1 << 30
)

// payload is what Claude Code tells a hook.
type payload struct {
	Event, Tool, ID, Session, Cwd string
	Input, Response, Error        json.RawMessage

	text   []byte
	fields container
}

// readPayload reads what a hook of the phase is given.
func readPayload(r io.Reader, phase Phase) (*payload, error) {
	if r == nil {
		return nil, errors.New("there is no standard input")
	}
	text, err := io.ReadAll(io.LimitReader(r, maxPayload+1))
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	if len(text) > maxPayload {
		drain(r)
		return nil, fmt.Errorf("the payload has more than %d bytes", maxPayload)
	}
	return parsePayload(text, phase)
}

// drain reads on, for a writer that takes a broken pipe for an error.
func drain(r io.Reader) {
	if r != nil {
		_, _ = io.CopyN(io.Discard, r, maxDrained)
	}
}

func parsePayload(text []byte, phase Phase) (*payload, error) {
	fields, err := parseObject(text)
	if err != nil {
		return nil, fmt.Errorf("the payload is no JSON object: %w", err)
	}
	p := payload{text: text, fields: fields}
	for name, v := range map[string]any{
		"hook_event_name": &p.Event, "tool_name": &p.Tool, "tool_use_id": &p.ID, "session_id": &p.Session, "cwd": &p.Cwd,
		"tool_input": &p.Input, "tool_response": &p.Response, "error": &p.Error,
	} { // encoding/json would take Tool_Name for tool_name, too
		if m, ok := fields.member(name); ok {
			if err := json.Unmarshal(text[m.value:m.end], v); err != nil {
				return nil, fmt.Errorf("the payload: %s: %w", name, err)
			}
		}
	}
	switch {
	case p.Event != "" && p.Event != events[phase]:
		return nil, fmt.Errorf("the payload is of %.60q, and `sdd-eval hook %s` is for %s: install the hooks anew", p.Event, phase, events[phase])
	case p.Tool == "":
		return nil, errors.New("the payload has no tool_name")
	case p.ID == "":
		return nil, errors.New("the payload has no tool_use_id: Claude Code is too old")
	}
	return &p, nil
}

// own are the fields of a line that are ours.
var own = []string{"timestamp", "phase", "tool_output", "exit_code", "denied", "rewritten_input"}

// line returns the line of a capture: our fields and, as they came, all of the payload. If one of those has a name of ours
// it gets "payload_" before it.
func (p *payload) line(phase Phase, now time.Time, d decision) ([]byte, error) {
	l := lineWriter{}
	l.field("timestamp", now.UTC().Format("2006-01-02T15:04:05.000000000Z07:00"))
	l.field("phase", phase)
	for i, m := range p.fields.children {
		if later := p.fields.children[i+1:]; slices.ContainsFunc(later, func(o child) bool { return o.key == m.key }) {
			continue // that one counts
		}
		name := m.key
		if slices.Contains(own, name) {
			name = "payload_" + name
		}
		l.field(name, json.RawMessage(p.text[m.value:m.end]))
	}
	if phase != Pre {
		l.field("tool_output", p.Response)
		l.field("exit_code", p.exitCode(phase))
		for _, name := range []string{"error", "duration_ms"} {
			if _, ok := p.fields.member(name); !ok {
				l.field(name, nil)
			}
		}
	}
	if d.denied != "" {
		l.field("denied", d.denied)
	}
	if d.input != nil {
		l.field("rewritten_input", d.input)
	}
	return l.close()
}

// lineWriter writes an object on one line.
type lineWriter struct {
	b   bytes.Buffer
	err error
}

func (l *lineWriter) field(name string, v any) {
	sep := byte(',')
	if l.b.Len() == 0 {
		sep = '{'
	}
	l.b.WriteByte(sep)
	l.value(name)
	l.b.WriteByte(':')
	if raw, ok := v.(json.RawMessage); ok && len(raw) > 0 {
		l.err = errors.Join(l.err, json.Compact(&l.b, raw))
		return
	}
	l.value(v)
}

func (l *lineWriter) value(v any) {
	data, err := jsonvalue.Marshal(v)
	l.b.Write(data)
	l.err = errors.Join(l.err, err)
}

func (l *lineWriter) close() ([]byte, error) {
	l.b.WriteByte('}')
	return l.b.Bytes(), l.err
}

// exitCode returns the exit code of a command, nil if there was none or it is not told. Claude Code tells it in the text
// of a failure only, and takes some for a success, such as that of a grep that found nothing.
func (p *payload) exitCode(phase Phase) *int {
	if p.Tool != "Bash" {
		return nil
	}
	if phase == Failure {
		var text string
		_ = json.Unmarshal(p.Error, &text)
		return claude.ExitCode(text)
	}
	var ran claude.Command
	if json.Unmarshal(p.Response, &ran) != nil || ran.Stdout == nil || !ran.ExitsZero() {
		return nil
	}
	return new(int)
}

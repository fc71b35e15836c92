package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// The size of the largest payload that is captured, and how much more is read so that the agent can finish writing.
const (
	maxPayload = 16 << 20
	maxDrained = 1 << 30
)

// payload is what Claude Code writes to a hook's standard input.
type payload struct {
	Event, Tool, ID, Session, Cwd string
	Input, Response, Error        json.RawMessage

	text   []byte
	fields container
}

// readPayload reads the payload of a hook of the phase.
func readPayload(r io.Reader, phase claude.Phase) (*payload, error) {
	if r == nil {
		return nil, errors.New("no standard input")
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

// drain reads the rest, since some writers treat a broken pipe as an error.
func drain(r io.Reader) {
	if r != nil {
		_, _ = io.CopyN(io.Discard, r, maxDrained)
	}
}

func parsePayload(text []byte, phase claude.Phase) (*payload, error) {
	fields, err := parseObject(text)
	if err != nil {
		return nil, fmt.Errorf("the payload is not a JSON object: %w", err)
	}
	p := payload{text: text, fields: fields}
	for name, v := range map[string]any{
		"hook_event_name": &p.Event, "tool_name": &p.Tool, "tool_use_id": &p.ID, "session_id": &p.Session,
		"cwd": &p.Cwd, "tool_input": &p.Input, "tool_response": &p.Response, "error": &p.Error,
	} { // encoding/json would take Tool_Name for tool_name, too
		if m, ok := fields.member(name); ok {
			if err := json.Unmarshal(text[m.value:m.end], v); err != nil {
				return nil, fmt.Errorf("the payload: %s: %w", name, err)
			}
		}
	}
	switch {
	case p.Event != "" && p.Event != phase.Event():
		return nil, fmt.Errorf("the payload is for %.60q, but `sdd-eval hook %s` handles %s: reinstall the hooks",
			p.Event, phase, phase.Event())
	case p.Tool == "":
		return nil, errors.New("the payload has no tool_name")
	case p.ID == "":
		return nil, errors.New("the payload has no tool_use_id: Claude Code is too old")
	}
	return &p, nil
}

// line returns the line of a capture: the hook's own fields and, unchanged, all fields of the payload. A field of the
// payload that has the name of one of the hook's own is prefixed with "payload_".
func (p *payload) line(phase claude.Phase, now time.Time, d decision) ([]byte, error) {
	l := lineWriter{}
	l.field("timestamp", now.UTC().Format("2006-01-02T15:04:05.000000000Z07:00"))
	l.field("phase", phase)
	for i, m := range p.fields.children {
		if later := p.fields.children[i+1:]; slices.ContainsFunc(later, func(o child) bool { return o.key == m.key }) {
			continue // the last one counts
		}
		name := m.key
		if slices.Contains(claude.OwnFields, name) {
			name = "payload_" + name
		}
		l.field(name, json.RawMessage(p.text[m.value:m.end]))
	}
	if phase != claude.Pre {
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

// exitCode returns the exit code of a command, nil if there was none or it is unknown. Claude Code gives it only in the
// text of a failure, and treats some as a success, such as that of a grep that found nothing.
func (p *payload) exitCode(phase claude.Phase) *int {
	if p.Tool != "Bash" {
		return nil
	}
	if phase == claude.Failure {
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

// appendLine appends a line to a file in a tree that other processes append to. It uses one write, which local file
// systems do atomically. If the write fails half-way, for example because the disk is full, appendLine truncates the
// file, so that no part of a line is left. A part that a killed process left is ended with a newline. Both need the
// lock, which not all file systems have; without it, lines are still whole as long as writes are.
func appendLine(tree disk.Tree, path string, line []byte) (err error) {
	if err := tree.MkdirAll(filepath.Dir(path)); err != nil {
		return err
	}
	f, err := tree.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }() // which unlocks, too
	locked := lock(f)
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if err := disk.CheckRegular(path, info); err != nil {
		return err
	}
	data := make([]byte, 0, len(line)+2)
	if locked && torn(f, info.Size()) {
		data = append(data, '\n')
	}
	data = append(append(data, line...), '\n')
	n, err := f.Write(data)
	if err != nil && n > 0 && locked {
		err = errors.Join(err, f.Truncate(info.Size()))
	}
	return err
}

// torn reports whether the file of that size ends in the middle of a line.
func torn(f *os.File, size int64) bool {
	var last [1]byte
	_, err := f.ReadAt(last[:], size-1)
	return size > 0 && (err == nil || errors.Is(err, io.EOF)) && last[0] != '\n'
}

// maxLockWait is how long a hook waits for other writers. Each takes less than a millisecond, unless it was stopped.
const maxLockWait = time.Second

// lock locks the open file and reports whether it could.
func lock(f *os.File) bool {
	for began := time.Now(); ; time.Sleep(100 * time.Microsecond) {
		switch err := disk.Lock(f); {
		case err == nil:
			return true
		case !errors.Is(err, disk.ErrLocked), time.Since(began) > maxLockWait:
			return false
		}
	}
}

// A container is an object or an array in a JSON text, with the offsets of its children. It lets callers keep what they
// do not know byte for byte and in order.
type container struct {
	start, end int // of the brackets: text[start] and text[end-1]
	children   []child
}

// child is a member of an object or an element of an array. Its text is text[start:end], the key of a member included.
type child struct {
	key        string
	start, end int
	value      int // where the value begins
}

// parseObject parses a JSON text that is one object.
func parseObject(text []byte) (container, error) {
	c, err := parseContainer(text, 0, '{')
	if err != nil {
		return container{}, err
	}
	if rest := bytes.TrimLeft(text[c.end:], " \t\r\n"); len(rest) > 0 {
		return container{}, &syntaxError{offset: len(text) - len(rest), reason: "text after the object"}
	}
	return c, nil
}

// syntaxError is an error at an offset of a JSON text.
type syntaxError struct {
	offset int
	reason string
}

func (e *syntaxError) Error() string { return e.reason }

// parseContainer parses the object or the array that begins at text[at:], after white space.
func parseContainer(text []byte, at int, open json.Delim) (container, error) {
	at += space(text[at:])
	d := json.NewDecoder(bytes.NewReader(text[at:]))
	first, err := d.Token()
	if err != nil {
		return container{}, located(text, at, d, err)
	}
	if first != open {
		return container{}, &syntaxError{
			at, fmt.Sprintf("this is not a JSON %s", map[json.Delim]string{'{': "object", '[': "array"}[open]),
		}
	}
	c := container{start: at}
	for d.More() {
		before := at + int(d.InputOffset())
		next := child{start: before + space(text[before:])}
		if text[next.start] == ',' {
			next.start += 1 + space(text[next.start+1:])
		}
		if open == '{' {
			key, err := d.Token()
			if err != nil {
				return container{}, located(text, at, d, err)
			}
			next.key, _ = key.(string)
		}
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil {
			return container{}, located(text, at, d, err)
		}
		next.end = at + int(d.InputOffset())
		next.value = next.end - len(raw)
		c.children = append(c.children, next)
	}
	if _, err := d.Token(); err != nil {
		return container{}, located(text, at, d, err)
	}
	c.end = at + int(d.InputOffset())
	return c, nil
}

const comment = "JSON has no comments: remove it"

// located adds to an error of the decoder its offset in the text.
func located(text []byte, at int, d *json.Decoder, err error) error {
	offset := at + int(d.InputOffset())
	if other, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = max(offset, at+int(other.Offset)-1)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &syntaxError{len(text), "the text is incomplete"}
	}
	offset = min(offset, len(text))
	if i := offset + space(text[offset:]); i < len(text) && text[i] == '/' {
		return &syntaxError{i, comment}
	}
	if strings.HasPrefix(err.Error(), "invalid character '/'") {
		return &syntaxError{offset, comment}
	}
	return &syntaxError{offset, err.Error()}
}

// space returns the length of the white space that text begins with.
func space(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " \t\r\n")) }

// member returns the member with that key, the last one if there are several, as JSON decoders do.
func (c container) member(key string) (child, bool) {
	for _, m := range slices.Backward(c.children) {
		if m.key == key {
			return m, true
		}
	}
	return child{}, false
}

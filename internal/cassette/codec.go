package cassette

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"hash/crc32"
	"slices"
	"strings"
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
	if !l.hasContent() {
		return l
	}
	if text := string(c.Data); isText(text) {
		l.Text = &text
	} else {
		text := base64.StdEncoding.EncodeToString(c.Data)
		l.Base64 = &text
	}
	return l
}

// hasContent tells whether the line is one of a file's new content.
func (l changeLine) hasContent() bool {
	return l.Kind == workspace.File && l.Op != workspace.Deleted && !l.ModeOnly && !l.Ignored
}

// isText tells whether a file is readable as a JSON string: other control characters than these would be six letters
// each.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' })
}

var (
	ops   = []workspace.Op{workspace.Added, workspace.Modified, workspace.Deleted}
	kinds = []workspace.Kind{workspace.File, workspace.Dir, workspace.Symlink}
)

func (l changeLine) change() (workspace.Change, error) {
	c := workspace.Change{
		Path: l.Path, Op: l.Op, Kind: l.Kind, Exec: l.Exec, ModeOnly: l.ModeOnly, Target: l.Target, Ignored: l.Ignored, Digest: l.Digest,
	}
	var err error
	switch {
	case !slices.Contains(ops, l.Op):
		err = fmt.Errorf("unknown change %q", l.Op)
	case !slices.Contains(kinds, l.Kind):
		err = fmt.Errorf("unknown kind %q", l.Kind)
	case (l.Text != nil) != (l.hasContent() && l.Base64 == nil) || l.Base64 != nil && !l.hasContent():
		err = errors.New("a file's new content is either text or base64, and nothing else has any")
	case l.Text != nil:
		c.Data = []byte(*l.Text)
	case l.Base64 != nil:
		c.Data, err = base64.StdEncoding.DecodeString(*l.Base64)
	}
	return c, err
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
	if body == nil {
		return nil, errors.New("an event without a body")
	}
	name := body.EventName()
	b = fmt.Appendf(b, `{"%s":"%s",`, eventKey, name)
	at := len(b)
	b, err := appendJSON(b, body)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", name, err)
	}
	if string(b[at:]) == "{}\n" {
		return append(b[:at-1], "}\n"...), nil
	}
	return append(b[:at], b[at+1:]...), nil
}

// key returns the first key of a line, empty if no line of ours begins with it.
func key(line []byte) string {
	rest, ok := bytes.CutPrefix(line, []byte(`{"`))
	if !ok {
		return ""
	}
	k, _, ok := bytes.Cut(rest[:min(len(rest), 16)], []byte(`":`))
	if !ok {
		return ""
	}
	for _, known := range []string{eventKey, changeKey, turnKey, timingsKey, totalsKey, headerKey} {
		if string(k) == known {
			return known
		}
	}
	return ""
}

// decoder decodes the lines of a file. We wrote the file, so an unknown field is an error. Numbers in values of any
// type keep their text.
type decoder struct {
	line bytes.Reader
	json *json.Decoder // over line, again and again: it costs more than most lines do
	read int64         // bytes given to json

	quick quick
}

func newDecoder() *decoder {
	d := &decoder{}
	d.json = json.NewDecoder(&d.line)
	d.json.UseNumber()
	d.json.DisallowUnknownFields()
	return d
}

// decode decodes a line, which is one object. After an error the decoder is of no more use.
func (d *decoder) decode(line []byte, v any) error {
	line = bytes.TrimSuffix(line, []byte("\n"))
	d.line.Reset(line)
	d.read += int64(len(line))
	if err := d.json.Decode(v); err != nil {
		return err
	}
	if d.json.InputOffset() != d.read {
		return errors.New("more than one JSON value")
	}
	return nil
}

// decodeEvent decodes an event's line, in which it blots out the name, so that the fields are an object of their own.
func (d *decoder) decodeEvent(line []byte) (trajectory.Body, error) {
	rest, ok := bytes.CutPrefix(line, []byte(`{"`+eventKey+`":"`))
	end := bytes.IndexByte(rest, '"')
	if !ok || end < 0 || end+1 >= len(rest) {
		return nil, errors.New("an event without a name")
	}
	name, fields := rest[:end], rest[end+1:]
	switch fields[0] {
	case ',':
		fields[0] = '{'
	case '}':
		fields = []byte("{}")
	}
	if body, ok := d.quick.body(string(name), fields); ok {
		return body, nil
	}
	return trajectory.DecodeBody(string(name), func(v any) error { return d.decode(fields, v) })
}

// totalsLine ends a cassette. A file without it was cut.
type totalsLine struct {
	Totals totals `json:"totals"`
	// Lines has a CRC-32 of each line before, 8 hexadecimal digits each: by it an edited line is named.
	Lines string `json:"lines"`
	// SHA256 is that of everything before.
	SHA256 string `json:"sha256"`
}

type totals struct {
	Turns     int `json:"turns"`
	Events    int `json:"events"`
	ToolCalls int `json:"tool_calls"`
}

func totalsOf(turns []Turn) totals {
	t := totals{Turns: len(turns)}
	for _, turn := range turns {
		t.Events += len(turn.Events)
		for _, e := range turn.Events {
			if _, ok := e.Body.(trajectory.ToolStart); ok {
				t.ToolCalls++
			}
		}
	}
	return t
}

const sumSize = 2 * crc32.Size // of a line's checksum in hexadecimal

// sums are the checksums of a cassette's lines.
type sums struct {
	lines []byte
	whole hash.Hash
}

func newSums() *sums { return &sums{whole: sha256.New()} }

// add takes the next line, with its line break.
func (s *sums) add(line []byte) {
	s.lines = appendSum(s.lines, line)
	s.whole.Write(line)
}

// appendSum appends a line's checksum.
func appendSum(b, line []byte) []byte {
	return hex.AppendEncode(b, binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(line)))
}

// totals returns the totals line of all lines so far, without the counts.
func (s *sums) totals() totalsLine {
	return totalsLine{Lines: string(s.lines), SHA256: hex.EncodeToString(s.whole.Sum(nil))}
}

// checksums returns the totals line of these bytes, without the counts.
func checksums(before []byte) totalsLine {
	s := newSums()
	for line := range bytes.Lines(before) {
		s.add(line)
	}
	return s.totals()
}

// compare names the first line of a file with checksums l whose recorded checksum is another, and tells why; 0 if there
// is none.
func (l totalsLine) compare(recorded totalsLine) (line int, reason string) {
	if l.Lines == recorded.Lines {
		return 0, ""
	}
	same := 0
	for same < min(len(l.Lines), len(recorded.Lines)) && l.Lines[same] == recorded.Lines[same] {
		same++
	}
	line = same/sumSize + 1
	switch more := len(l.Lines)/sumSize - len(recorded.Lines)/sumSize; {
	case more < 0:
		return line, "the cassette is cut: " + count(-more, "line is", "lines are") + " missing, from this line on it is not what was recorded"
	case more > 0:
		return line, "the cassette was edited: it has " + count(more, "line", "lines") + " too many, from this line on it is not what was recorded"
	}
	return line, "the cassette was edited: this line is not the one that was recorded"
}

func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

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
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// The first key of a line says which kind of line it is.
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

// timingsLine has the time of each event of the session, in order, in microseconds since the session began. All times
// are in one line, so that only this line differs between two recordings of the same behaviour.
type timingsLine struct {
	Timings []int64 `json:"timings"`
	// Terminals are the durations of the terminals, in order; 0: unknown.
	Terminals []int64 `json:"terminals,omitempty"`
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
		Op: c.Op, Path: c.Path, Kind: c.Kind, Exec: c.Exec, ModeOnly: c.ModeOnly, Target: c.Target,
		Ignored: c.Ignored, Digest: c.Digest,
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

// hasContent reports whether the line has a file's new content.
func (l changeLine) hasContent() bool {
	return l.Kind == workspace.File && l.Op != workspace.Deleted && !l.ModeOnly && !l.Ignored
}

// isText reports whether a file is readable as a JSON string: other control characters than these take six characters
// each.
func isText(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s,
		func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' && r != '\r' })
}

var (
	ops   = []workspace.Op{workspace.Added, workspace.Modified, workspace.Deleted}
	kinds = []workspace.Kind{workspace.File, workspace.Dir, workspace.Symlink}
)

func (l changeLine) change() (workspace.Change, error) {
	c := workspace.Change{
		Path: l.Path, Op: l.Op, Kind: l.Kind, Exec: l.Exec, ModeOnly: l.ModeOnly, Target: l.Target,
		Ignored: l.Ignored, Digest: l.Digest,
	}
	var err error
	switch {
	case !slices.Contains(ops, l.Op):
		err = fmt.Errorf("unknown change %q", l.Op)
	case !slices.Contains(kinds, l.Kind):
		err = fmt.Errorf("unknown kind %q", l.Kind)
	case (l.Text != nil) != (l.hasContent() && l.Base64 == nil) || l.Base64 != nil && !l.hasContent():
		err = errors.New("the new content of a file must be either text or base64; other changes have no content")
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
		return nil, errors.New("an event has no body")
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

// key returns the first key of a line, empty if it is not that of any kind of line.
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

// decoder decodes the lines of a cassette, as strictly as [jsonvalue.DecodeStrict], with [jsonvalue.AllKeys]: this
// package wrote the file. Numbers keep their text in values of any type.
type decoder struct {
	line bytes.Reader
	json *json.Decoder // reads line, and is used for all lines: creating one costs more than decoding most lines
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

// decode decodes a line, which is one object. After an error the decoder must not be used.
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
	return jsonvalue.CheckKeys(line, v, jsonvalue.AllKeys)
}

// decodeEvent decodes an event's line. It overwrites the comma after the name, so that the other fields are an object.
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

// totalsLine is the last line of a cassette. A file without it was truncated.
type totalsLine struct {
	Totals totals `json:"totals"`
	// Lines has the CRC-32 of each line before, in 8 hexadecimal digits, so that an error can name an edited line.
	Lines string `json:"lines"`
	// SHA256 is the sum of all lines before.
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

// sumSize is the length of a line's checksum in hexadecimal digits.
const sumSize = 2 * crc32.Size

// sums are the checksums of a cassette's lines.
type sums struct {
	lines []byte
	whole hash.Hash
}

func newSums() *sums { return &sums{whole: sha256.New()} }

// add adds the next line, with its line break.
func (s *sums) add(line []byte) {
	s.lines = appendSum(s.lines, line)
	s.whole.Write(line)
}

// appendSum appends a line's checksum.
func appendSum(b, line []byte) []byte {
	return hex.AppendEncode(b, binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(line)))
}

// totals returns the totals line for the lines that were added, without the counts.
func (s *sums) totals() totalsLine {
	return totalsLine{Lines: string(s.lines), SHA256: hex.EncodeToString(s.whole.Sum(nil))}
}

// checksums returns the totals line for the lines before it, without the counts.
func checksums(before []byte) totalsLine {
	s := newSums()
	for line := range bytes.Lines(before) {
		s.add(line)
	}
	return s.totals()
}

// compare compares the checksums l of a file with the recorded ones. It returns the first line that differs and the
// reason, or 0 if no line does.
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
		reason = excerpt.Plural(-more, "line is", "lines are") + " missing"
		return line, "the cassette is incomplete: " + reason + ", and this is the first line that differs"
	case more > 0:
		reason = excerpt.Count(more, "extra line")
		return line, "the cassette was edited: it has " + reason + ", and this is the first line that differs"
	}
	return line, "the cassette was edited: this line is not the one that was recorded"
}

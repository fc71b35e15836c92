package cassette

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// quick decodes the frequent kinds of events, in the form in which this package writes them, without white space. It is
// several times as fast as encoding/json, which goes through each byte of an output three times and copies it twice. It
// fails on anything else, which encoding/json then decodes. What it accepts means the same to encoding/json.
type quick struct {
	rest   []byte // not yet read
	text   []byte // for a string with escapes
	nested int
	failed bool
	recent [256]string // by their hashes
}

// seed is that of the hashes of recent strings.
var seed = maphash.MakeSeed()

// keep returns a text as a string, the same one for a text that was there a moment ago: what a tool was given or
// returned is often what its client wrote or read, and keys and names are few.
func (q *quick) keep(text []byte) string {
	last := &q.recent[maphash.Bytes(seed, text)%uint64(len(q.recent))]
	if *last != string(text) {
		*last = string(text)
	}
	return *last
}

// maxNested is how deeply arrays and objects may be nested for quick.
const maxNested = 64

// body decodes the fields of the event with this name.
func (q *quick) body(name string, fields []byte) (body trajectory.Body, ok bool) {
	q.rest, q.nested, q.failed = bytes.TrimSuffix(fields, []byte("\n")), 0, false
	switch name {
	case trajectory.Prompt{}.EventName():
		body = trajectory.Prompt{Text: q.onlyText()}
	case trajectory.Message{}.EventName():
		body = trajectory.Message{Text: q.onlyText()}
	case trajectory.Thought{}.EventName():
		body = trajectory.Thought{Text: q.onlyText()}
	case trajectory.ToolStart{}.EventName():
		body = q.toolStart()
	case trajectory.ToolEnd{}.EventName():
		body = q.toolEnd()
	case trajectory.FileRead{}.EventName():
		body = q.fileRead()
	case trajectory.FileWrite{}.EventName():
		body = q.fileWrite()
	default:
		return nil, false
	}
	return body, !q.failed && len(q.rest) == 0
}

func (q *quick) onlyText() (text string) {
	q.fields(func(key string) {
		if key != "text" {
			q.failed = true
			return
		}
		text = q.string()
	}, "text")
	return text
}

func (q *quick) toolStart() (b trajectory.ToolStart) {
	q.fields(func(key string) {
		switch key {
		case "id":
			b.ID = q.string()
		case "parent":
			b.Parent = q.string()
		case "name":
			b.Name = q.string()
		case "kind":
			b.Kind = q.string()
		case "title":
			b.Title = q.string()
		case "input":
			b.Args = q.value()
		case "locations":
			b.Locations = []trajectory.Location{}
			q.array(func() { b.Locations = append(b.Locations, q.location()) })
		default:
			q.failed = true
		}
	}, "id")
	return b
}

func (q *quick) location() (l trajectory.Location) {
	q.fields(func(key string) {
		switch key {
		case "path":
			l.Path = q.string()
		case "line":
			l.Line = q.int()
		default:
			q.failed = true
		}
	}, "path")
	return l
}

func (q *quick) toolEnd() (b trajectory.ToolEnd) {
	q.fields(func(key string) {
		switch key {
		case "id":
			b.ID = q.string()
		case "status":
			b.Status = trajectory.Status(q.string())
		case "output":
			b.Output = q.value()
		case "printed":
			b.Printed = q.string()
		case "exit_code":
			b.ExitCode = q.int()
		default: // diffs are rare
			q.failed = true
		}
	}, "id", "status")
	return b
}

func (q *quick) fileRead() (b trajectory.FileRead) {
	q.fields(func(key string) {
		switch key {
		case "path":
			b.Path = q.string()
		case "line":
			b.Line = q.int()
		case "limit":
			b.Limit = q.int()
		case "text":
			b.Text = q.string()
		case "error":
			b.Error = q.string()
		default:
			q.failed = true
		}
	}, "path")
	return b
}

func (q *quick) fileWrite() (b trajectory.FileWrite) {
	q.fields(func(key string) {
		switch key {
		case "path":
			b.Path = q.string()
		case "text":
			b.Text = q.string()
		case "error":
			b.Error = q.string()
		default:
			q.failed = true
		}
	}, "path")
	return b
}

// next consumes c if it comes next, and reports whether it did.
func (q *quick) next(c byte) bool {
	if len(q.rest) == 0 || q.rest[0] != c {
		return false
	}
	q.rest = q.rest[1:]
	return true
}

// must consumes c.
func (q *quick) must(c byte) {
	if !q.next(c) {
		q.failed = true
	}
}

// object consumes an object; field consumes the value of each key.
func (q *quick) object(field func(key string)) {
	q.list('{', '}', func() {
		key := q.string()
		q.must(':')
		if !q.failed {
			field(key)
		}
	})
}

// fields consumes an object that has no key twice and at least those that are always written.
func (q *quick) fields(field func(key string), always ...string) {
	var room [8]string // the most keys that an event has
	seen := room[:0]
	q.object(func(key string) {
		if slices.Contains(seen, key) {
			q.failed = true
			return
		}
		seen = append(seen, key)
		field(key)
	})
	for _, key := range always {
		q.failed = q.failed || !slices.Contains(seen, key)
	}
}

// array consumes an array; element consumes each element.
func (q *quick) array(element func()) { q.list('[', ']', element) }

func (q *quick) list(begin, end byte, item func()) {
	q.must(begin)
	if q.nested++; q.nested > maxNested {
		q.failed = true
	}
	for first := true; !q.failed && !q.next(end); first = false {
		if !first {
			q.must(',')
		}
		if !q.failed {
			item()
		}
	}
	q.nested--
}

// value consumes a value of any type.
func (q *quick) value() any {
	if len(q.rest) == 0 {
		q.failed = true
		return nil
	}
	switch q.rest[0] {
	case '"':
		return q.string()
	case '{':
		m := make(map[string]any)
		q.object(func(key string) {
			if _, twice := m[key]; twice {
				q.failed = true
			}
			m[key] = q.value()
		})
		return m
	case '[':
		a := []any{}
		q.array(func() { a = append(a, q.value()) })
		return a
	}
	switch word := q.word(); {
	case string(word) == "null":
		return nil
	case string(word) == "true", string(word) == "false":
		return word[0] == 't'
	default:
		q.number(word)
		return json.Number(word)
	}
}

// number makes sure that a word is a number.
func (q *quick) number(word []byte) {
	digit := func(b byte) bool { return '0' <= b && b <= '9' }
	if len(word) == 0 || word[0] != '-' && !digit(word[0]) || !digit(word[len(word)-1]) || !json.Valid(word) {
		q.failed = true
	}
}

// word consumes everything up to the next token.
func (q *quick) word() []byte {
	end := bytes.IndexAny(q.rest, ",]}")
	if end < 0 {
		end = len(q.rest)
	}
	word := q.rest[:end]
	q.rest = q.rest[end:]
	return word
}

// int consumes an integer.
func (q *quick) int() *int {
	word := q.word()
	q.number(word)
	n, err := strconv.Atoi(string(word))
	if err != nil {
		q.failed = true
	}
	return &n
}

// string consumes a string.
func (q *quick) string() string {
	if !q.next('"') {
		q.failed = true
		return ""
	}
	written := q.rest
	text, ok := q.unquote()
	if !ok {
		q.failed = true
		return ""
	}
	if hasControl(written[:len(written)-len(q.rest)]) || !utf8.Valid(text) {
		q.failed = true
		return ""
	}
	return q.keep(text)
}

// hasControl reports whether text contains a control character, which must be escaped in a string.
func hasControl(text []byte) bool {
	const each = 0x0101010101010101
	for ; len(text) >= 8; text = text[8:] {
		// The subtraction sets the highest bit of each byte below 0x20. It can borrow from the next byte, and so set a
		// wrong bit, only after such a byte.
		if eight := binary.LittleEndian.Uint64(text); (eight-each*' ')&^eight&(each*0x80) != 0 {
			return true
		}
	}
	return slices.ContainsFunc(text, func(c byte) bool { return c < ' ' })
}

// unquote consumes the rest of a string and returns its text, which is valid until the next call.
func (q *quick) unquote() (text []byte, ok bool) {
	q.text = q.text[:0]
	escaped := false
	end := bytes.IndexByte(q.rest, '"')
	for end >= 0 {
		at := bytes.IndexByte(q.rest[:end], '\\')
		if at < 0 {
			last := q.rest[:end]
			q.rest = q.rest[end+1:]
			if !escaped {
				return last, true
			}
			q.text = append(q.text, last...)
			return q.text, true
		}
		escaped = true
		meaning, size := escape(q.rest[at:])
		if size == 0 {
			return nil, false
		}
		q.text = utf8.AppendRune(append(q.text, q.rest[:at]...), meaning)
		q.rest = q.rest[at+size:]
		if end -= at + size; end < 0 { // the quote was escaped
			end = bytes.IndexByte(q.rest, '"')
		}
	}
	return nil, false
}

// escapes maps the letter of an escape, such as the n of \n, to its meaning; 0 means that there is no such escape.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// escape returns the meaning and size of the escape at the beginning of raw. The size is 0 if the escape is invalid or
// half of a surrogate pair.
func escape(raw []byte) (meaning rune, size int) {
	if len(raw) < 2 {
		return 0, 0
	}
	if raw[1] != 'u' {
		if meaning := escapes[raw[1]]; meaning != 0 {
			return rune(meaning), 2
		}
		return 0, 0
	}
	if len(raw) < 6 {
		return 0, 0
	}
	unit, err := strconv.ParseUint(string(raw[2:6]), 16, 16)
	if err != nil || utf16.IsSurrogate(rune(unit)) {
		return 0, 0
	}
	return rune(unit), 6
}

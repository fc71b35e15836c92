package doc

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ParseJSON parses a text that must be JSON, as strictly as encoding/json does, into the same tree as [Parse], with the
// same limits. A key that an object has twice is a problem, and so is half of a surrogate pair in a string.
func ParseJSON(file string, data []byte) *Document {
	d := &Document{file: file, Text: data}
	if !d.checkText(data) {
		return d
	}
	b := jsonBuilder{doc: d, data: data, line: 1, column: 1}
	if len(bytes.TrimSpace(data)) == 0 {
		d.report(d.at(1, 1), "", "the file is empty")
		return d
	}
	var whole json.RawMessage
	if err := json.Unmarshal(data, &whole); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			b.advance(max(0, int(syntax.Offset)-1))
		}
		d.report(b.position(), "", "not valid JSON: "+err.Error())
		return d
	}
	b.dec = json.NewDecoder(bytes.NewReader(data))
	b.dec.UseNumber()
	d.Root = b.value("", Position{}, 0)
	if b.stopped {
		d.Root = nil
	}
	return d
}

// jsonBuilder makes nodes of a text that is valid JSON.
type jsonBuilder struct {
	doc          *Document
	data         []byte
	dec          *json.Decoder
	nodes        int
	offset       int // the position is that of data[offset]
	line, column int
	stopped      bool // a limit is exceeded
}

// advance moves the position to an offset, which is never before the last one.
func (b *jsonBuilder) advance(offset int) {
	passed := b.data[b.offset:min(offset, len(b.data))]
	if n := bytes.Count(passed, []byte("\n")); n > 0 {
		b.line, b.column = b.line+n, 1
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	b.column += utf8.RuneCount(passed)
	b.offset = min(offset, len(b.data))
}

func (b *jsonBuilder) position() Position { return b.doc.at(b.line, b.column) }

// next returns the next token, with its position and its text in the file.
func (b *jsonBuilder) next() (json.Token, Position, string) {
	from := int(b.dec.InputOffset())
	for from < len(b.data) && strings.IndexByte(" \t\r\n,:", b.data[from]) >= 0 {
		from++
	}
	b.advance(from)
	token, err := b.dec.Token()
	if err != nil { // the text is valid
		panic("doc: " + err.Error())
	}
	return token, b.position(), string(b.data[from:b.dec.InputOffset()])
}

// value returns the node for the value that comes next; key is the position of its key, zero if it has none.
func (b *jsonBuilder) value(path string, key Position, depth int) *Node {
	token, pos, raw := b.next()
	n := &Node{doc: b.doc, path: path, pos: pos, key: key, text: raw}
	if key == (Position{}) {
		n.key = pos
	}
	b.nodes++
	switch {
	case b.nodes > MaxNodes:
		return b.stop(n, fmt.Sprintf("the file has more than %d values", MaxNodes))
	case depth > MaxDepth:
		return b.stop(n, fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	}
	switch t := token.(type) {
	case json.Delim:
		n.text = ""
		if t == '[' {
			n.kind = List
			b.list(n, depth)
		} else {
			n.kind = Map
			b.object(n, depth)
		}
	case string:
		n.kind, n.text = String, t
		if !whole(t, raw) {
			b.invalid(n, "half of a surrogate pair, which is no character")
		}
	case json.Number:
		n.kind = Number
	case bool:
		n.kind = Bool
	default:
		n.kind = Null
	}
	return n
}

// whole reports whether a string, as it stands in the file, has all characters of text: the decoder replaces what is
// none.
func whole(text, raw string) bool {
	return strings.Count(text, "\uFFFD") == strings.Count(raw, "\uFFFD")+strings.Count(strings.ToLower(raw), `\ufffd`)
}

func (b *jsonBuilder) list(n *Node, depth int) {
	for b.dec.More() && !b.stopped {
		item := b.value(n.path+"["+strconv.Itoa(len(n.items))+"]", Position{}, depth+1)
		n.items, n.flawed = append(n.items, item), n.flawed || item.flawed
	}
	b.end()
}

func (b *jsonBuilder) object(n *Node, depth int) {
	seen := make(map[string]int) // key to its line
	for b.dec.More() && !b.stopped {
		token, pos, raw := b.next()
		name := token.(string)
		path := join(n.path, pathKey(name))
		k := &Node{doc: b.doc, path: path, pos: pos, key: pos}
		switch {
		case !whole(name, raw):
			b.invalid(k, "half of a surrogate pair, which is no character")
		case seen[name] != 0:
			b.invalid(k, fmt.Sprintf("duplicate key %q, first on line %d", name, seen[name]))
		}
		value := b.value(path, pos, depth+1)
		n.flawed = n.flawed || k.flawed || value.flawed
		if !k.flawed {
			seen[name] = pos.Line
			n.entries = append(n.entries, Entry{Key: name, Position: pos, Value: value})
		}
	}
	b.end()
}

// end passes over a closing bracket.
func (b *jsonBuilder) end() {
	if !b.stopped {
		b.next()
	}
}

func (b *jsonBuilder) invalid(n *Node, reason string) {
	n.kind, n.flawed = Invalid, true
	b.doc.report(n.pos, n.path, reason)
}

func (b *jsonBuilder) stop(n *Node, reason string) *Node {
	b.invalid(n, reason)
	b.stopped = true
	return n
}

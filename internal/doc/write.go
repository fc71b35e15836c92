package doc

import (
	"bytes"
	"fmt"
	"reflect"
	"strings"
	"unicode"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// Pair is a key of a mapping, of at most 200 bytes, and its value: another mapping as [Pairs], a list of mappings as
// [][Pairs], or what JSON can express.
type Pair struct {
	Key   string
	Value any
	// Comment stands on lines of its own before the key; of the first pair, before the mapping.
	Comment string
}

// Pairs are a mapping in its order.
type Pairs []Pair

// With returns the mapping with another key, unless its value says nothing: it is zero, or an empty list or mapping.
func (p Pairs) With(key string, value any) Pairs {
	v := reflect.ValueOf(value)
	empty := !v.IsValid() || v.IsZero()
	if !empty && (v.Kind() == reflect.Slice || v.Kind() == reflect.Map) {
		empty = v.Len() == 0
	}
	if empty {
		return p
	}
	return append(p, Pair{Key: key, Value: value})
}

// Shared is a value that several keys have, other than a mapping: it is written once, and named like an id elsewhere.
type Shared struct {
	Name  string
	Value any
}

// YAML returns the mapping as a file that [Parse] reads.
func (p Pairs) YAML() []byte {
	var b bytes.Buffer
	p.write(&b, make(map[string]bool), "", "")
	return b.Bytes()
}

// write writes the mapping. The first line has its own indentation; shared are the names of values that are written.
func (p Pairs) write(b *bytes.Buffer, shared map[string]bool, first, indent string) {
	for i, pair := range p {
		if pair.Comment != "" && (i > 0 || first == indent) {
			for line := range strings.Lines(pair.Comment) {
				b.WriteString(strings.TrimRight(indent+"# "+printable(line), " ") + "\n")
			}
		}
		if i > 0 {
			first = indent
		}
		b.WriteString(first + scalar(pair.Key) + ":")
		switch v := pair.Value.(type) {
		case Pairs:
			if len(v) == 0 {
				b.WriteString(" {}\n")
				continue
			}
			b.WriteByte('\n')
			v.write(b, shared, indent+"  ", indent+"  ")
		case []Pairs:
			if len(v) == 0 {
				b.WriteString(" []\n")
				continue
			}
			b.WriteByte('\n')
			for _, item := range v {
				item.write(b, shared, indent+"  - ", indent+"    ")
			}
		case string:
			if plain(v) {
				b.WriteString(" |\n")
				for line := range strings.Lines(v) {
					b.WriteString(strings.TrimRight(indent+"  "+line, " \n") + "\n")
				}
			} else {
				b.WriteString(" " + scalar(v) + "\n")
			}
		case Shared:
			if shared[v.Name] {
				b.WriteString(" *" + v.Name + "\n")
			} else {
				b.WriteString(" &" + v.Name + " " + scalar(v.Value) + "\n")
			}
			shared[v.Name] = true
		default:
			b.WriteString(" " + scalar(v) + "\n")
		}
	}
}

// plain reports whether a text of several lines can be written as a block.
func plain(text string) bool {
	body, ended := strings.CutSuffix(text, "\n")
	if !ended || body == "" || strings.HasSuffix(body, "\n") || strings.TrimLeft(body, " \t\n") != body {
		return false
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSuffix(line, "\n"); line != strings.TrimRight(line, " \t") ||
			strings.ContainsFunc(line, func(r rune) bool { return r != '\t' && !unicode.IsPrint(r) }) {
			return false
		}
	}
	return true
}

// printable returns a line of a comment.
func printable(line string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, line)
}

// scalar returns a value as JSON with the escapes of YAML; short words as they are.
func scalar(v any) string {
	if text, ok := v.(string); ok && word.MatchString(text) && !notText[strings.ToLower(text)] {
		return text
	}
	text, err := jsonvalue.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("doc: a value that is to be written: %v", err))
	}
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default: // readers of YAML take some of them for line ends
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// word matches texts that no reader of YAML takes for anything else, but for those in notText.
var word = lazyregexp.New(`^[a-zA-Z_][a-zA-Z0-9_-]*$`)

var notText = map[string]bool{
	"true": true, "false": true, "null": true, "yes": true, "no": true, "on": true, "off": true, "y": true, "n": true,
}

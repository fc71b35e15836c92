package acp

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// scanner walks over one JSON text that is known to be valid (json.Valid), so it checks nothing.
type scanner struct {
	data []byte
	pos  int
}

// peek returns the first byte of the next value or delimiter.
func (s *scanner) peek() byte {
	for {
		switch c := s.data[s.pos]; c {
		case ' ', '\t', '\r', '\n':
			s.pos++
		default:
			return c
		}
	}
}

// more steps into or along an object or array whose end is the byte end: it reports whether there is another member or
// item, and leaves the position at its first byte.
func (s *scanner) more(end byte) bool {
	switch s.peek() {
	case '{', '[', ',':
		s.pos++
	}
	if s.peek() != end {
		return true
	}
	s.pos++
	return false
}

// key reads a member's name and its colon.
func (s *scanner) key() []byte {
	text := s.str()
	s.peek()
	s.pos++ // the colon
	inner := text[1 : len(text)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	return []byte(unquote(text))
}

// value reads over the next value and returns its text.
func (s *scanner) value() []byte {
	switch s.peek() {
	case '"':
		return s.str()
	case '{', '[':
		return s.composite()
	default:
		return s.scalar()
	}
}

// str reads over a string and returns its text with the quotes.
func (s *scanner) str() []byte {
	start := s.pos
	s.pos++
	quote := s.pos + bytes.IndexByte(s.data[s.pos:], '"')
	for {
		backslash := bytes.IndexByte(s.data[s.pos:quote], '\\')
		if backslash < 0 {
			s.pos = quote + 1
			return s.data[start:s.pos]
		}
		s.pos += backslash + 2
		if s.pos > quote { // it was an escaped quote
			quote = s.pos + bytes.IndexByte(s.data[s.pos:], '"')
		}
	}
}

// composite reads over an object or array, without recursion, and returns its text.
func (s *scanner) composite() []byte {
	start := s.pos
	for depth := 0; ; {
		switch s.data[s.pos] {
		case '"':
			s.str()
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		s.pos++
		if depth == 0 {
			return s.data[start:s.pos]
		}
	}
}

// scalar reads over a number, true, false or null and returns its text.
func (s *scanner) scalar() []byte {
	start := s.pos
	for s.pos < len(s.data) {
		switch s.data[s.pos] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return s.data[start:s.pos]
		}
		s.pos++
	}
	return s.data[start:s.pos]
}

// member returns the text of the value of the object's member with that name, nil if there is none. The position, at
// the object's first byte, does not change.
func (s *scanner) member(name string) []byte {
	in := scanner{data: s.data, pos: s.pos}
	var found []byte
	for in.more('}') {
		key := in.key()
		value := in.value()
		if string(key) == name {
			found = value
		}
	}
	return found
}

// unquote returns the string of a JSON string's text.
func unquote(text []byte) string {
	inner := text[1 : len(text)-1]
	if bytes.IndexByte(inner, '\\') < 0 && utf8.Valid(inner) {
		return string(inner)
	}
	var s string
	if err := json.Unmarshal(text, &s); err != nil {
		panic("acp: unquote of text that is not a JSON string: " + err.Error())
	}
	return s
}

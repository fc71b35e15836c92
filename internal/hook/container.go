package hook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A container is an object or an array of a JSON text, with the places of what it has. It is for those who keep what they
// do not know, byte for byte and in its order.
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
		return container{}, &syntaxError{offset: len(text) - len(rest), reason: "text behind the object"}
	}
	return c, nil
}

// syntaxError is an error at a place in a JSON text.
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
		return container{}, &syntaxError{at, fmt.Sprintf("this is no JSON %s", map[json.Delim]string{'{': "object", '[': "array"}[open])}
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

const comment = "a comment, which JSON does not have: take it out"

// located gives an error of the decoder a place in the text.
func located(text []byte, at int, d *json.Decoder, err error) error {
	offset := at + int(d.InputOffset())
	if other, ok := errors.AsType[*json.SyntaxError](err); ok {
		offset = max(offset, at+int(other.Offset)-1)
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return &syntaxError{len(text), "the text ends in the middle"}
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

// space returns how much white space text begins with.
func space(text []byte) int { return len(text) - len(bytes.TrimLeft(text, " \t\r\n")) }

// member returns the member with that key. Of several the last one counts, as it does for programs that decode the text.
func (c container) member(key string) (child, bool) {
	for _, m := range slices.Backward(c.children) {
		if m.key == key {
			return m, true
		}
	}
	return child{}, false
}

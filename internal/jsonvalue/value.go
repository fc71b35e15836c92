package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// maxDepth is how deep values may nest, the limit of encoding/json.
const maxDepth = 10_000

var errTooDeep = errors.New("nested too deeply")

// Of returns a Go value as decoded JSON, by way of encoding/json where it is of another type. It shares no maps and no
// slices with v. The error says where in v a value cannot be JSON.
func Of(v any) (any, error) { return of(v, 0) }

func of(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	switch v := v.(type) {
	case nil, bool, string:
		return v, nil
	case int:
		return json.Number(strconv.Itoa(v)), nil
	case json.Number:
		if _, _, ok := split(v.String()); !ok {
			return nil, fmt.Errorf("%q is not a number", v.String())
		}
		return v, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			decoded, err := of(value, depth+1)
			if err != nil {
				return nil, inside(key, err)
			}
			m[key] = decoded
		}
		return m, nil
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			decoded, err := of(value, depth+1)
			if err != nil {
				return nil, inside(fmt.Sprintf("[%d]", i), err)
			}
			list[i] = decoded
		}
		return list, nil
	}
	text, err := json.Marshal(v)
	if own, ok := errors.AsType[*json.MarshalerError](err); ok {
		err = own.Unwrap()
	}
	if err != nil {
		return nil, err
	}
	var decoded any
	err = Decode(text, &decoded)
	return decoded, err
}

// inside says where in a value the error is, unless that would not help a person.
func inside(place string, err error) error {
	if errors.Is(err, errTooDeep) {
		return err
	}
	return fmt.Errorf("%s: %w", place, err)
}

// Equal reports whether two decoded values are the same JSON value. Numbers are equal if their exact values are: 1 is
// 1.0 and 1e0, and no digit is lost, however many there are. A number with an exponent of more than 18 digits equals
// only one that is written the same. Types count: 1 is not "1", null is not a missing member. The order of members does
// not.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && equalNumbers(a, b)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case string:
		b, ok := b.(string)
		return ok && a == b
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	default:
		return a == nil && b == nil
	}
}

func equalNumbers(a, b json.Number) bool {
	if a == b || isDigits(string(a)) && isDigits(string(b)) { // in which numbers are written in one way
		return a == b
	}
	n, ok := ParseNumber(a)
	m, both := ParseNumber(b)
	return ok && both && n == m
}

// Canonical returns the one text of a decoded value: two values are [Equal] if and only if their canonical texts are.
// It is JSON on one line with sorted keys, and with numbers as [Number.String] has them.
func Canonical(v any) string {
	v, _ = canonical(v)
	return Compact(v)
}

// canonical returns v with canonical numbers, and whether it is another value than v.
func canonical(v any) (_ any, changed bool) {
	switch v := v.(type) {
	case json.Number:
		if n, ok := ParseNumber(v); ok {
			c := json.Number(n.String())
			return c, c != v
		}
	case map[string]any:
		m := v
		for key, value := range v {
			if c, other := canonical(value); other {
				if !changed {
					m, changed = maps.Clone(v), true
				}
				m[key] = c
			}
		}
		return m, changed
	case []any:
		list := v
		for i, element := range v {
			if c, other := canonical(element); other {
				if !changed {
					list, changed = slices.Clone(v), true
				}
				list[i] = c
			}
		}
		return list, changed
	}
	return v, false
}

// Type names the type of a decoded value, with its article.
func Type(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case json.Number:
		return "a number"
	case string:
		return "a string"
	case []any:
		return "an array"
	default:
		return "an object"
	}
}

// Marshal returns v as JSON on one line, without a line end. Text stays readable: HTML is not escaped.
func Marshal(v any) ([]byte, error) { return MarshalIndent(v, "", "") }

// MarshalIndent is [Marshal] with the lines of [json.MarshalIndent].
func MarshalIndent(v any, prefix, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent(prefix, indent)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// Compact shows a decoded value as JSON on one line. What is not printable is escaped, so that nothing an agent wrote
// reaches a terminal as a control sequence.
func Compact(v any) string {
	data, err := Marshal(v)
	if err != nil {
		return "(" + err.Error() + ")" // a number that somebody made up
	}
	text := string(data)
	if !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		switch {
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		}
	}
	return b.String()
}

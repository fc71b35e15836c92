// Package jsonvalue decodes, compares and shows JSON values, for the whole program. It knows no formats: the types that
// are decoded belong to its callers.
//
// A decoded value is a map[string]any, []any, string, json.Number, bool or nil. Numbers keep their text, so no digit is
// lost, and are compared by their exact value: see [Equal].
package jsonvalue

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf16"
)

// maxDepth is how deeply values may be nested. It is the limit of encoding/json.
const maxDepth = 10_000

var errTooDeep = errors.New("nested too deeply")

// Of returns a Go value as decoded JSON. It converts values of other types with encoding/json. The result shares no
// maps and slices with v. The error says which value in v cannot be JSON.
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

// IsDecoded reports whether a value is decoded JSON, so that [Of] would return a copy of it.
func IsDecoded(v any) bool { return isDecoded(v, 0) }

func isDecoded(v any, depth int) bool {
	ok := depth <= maxDepth
	switch v := v.(type) {
	case nil, bool, string:
	case json.Number:
		_, _, ok = split(v.String())
	case map[string]any:
		for _, value := range v {
			ok = ok && isDecoded(value, depth+1)
		}
	case []any:
		for _, value := range v {
			ok = ok && isDecoded(value, depth+1)
		}
	default:
		return false
	}
	return ok
}

// inside adds the place in a value to an error, unless the value is nested too deeply for that to help.
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
	if a == b || isDigits(string(a)) && isDigits(string(b)) { // digits only: equal numbers have equal texts
		return a == b
	}
	n, ok := ParseNumber(a)
	m, both := ParseNumber(b)
	return ok && both && n == m
}

// Canonical returns the canonical text of a decoded value. Two values are [Equal] if and only if their canonical texts
// are. It is JSON on one line with sorted keys, and with numbers as [Number.String] returns them.
func Canonical(v any) string {
	v, _ = canonical(v)
	return Compact(v)
}

// canonical returns v with canonical numbers, and whether it differs from v.
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
	err := e.Encode(v)
	line := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if prefix == "" && indent == "" {
		return line, err
	}
	return indented(line, prefix, indent), err
}

// Indent is [Marshal] with a line for each value and a final newline, as files have it.
func Indent(v any) ([]byte, error) {
	data, err := MarshalIndent(v, "", "  ")
	return append(data, '\n'), err
}

// Compact returns a decoded value as JSON on one line. It escapes characters that are not printable, so that an agent's
// text cannot reach a terminal as a control sequence.
func Compact(v any) string {
	data, err := Marshal(v)
	if err != nil {
		return "(" + err.Error() + ")" // a json.Number that is not a number
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

// Number is the exact value of a JSON number, however large: as float64, 9007199254740992 and 9007199254740993 would be
// equal. The value is sign × 0.digits × 10^exp. Equal numbers are equal with ==.
type Number struct {
	sign   int    // -1, 0, 1
	digits string // no zeros at either end; empty for zero
	exp    int64
}

// ParseNumber returns the value of a number. It returns false if text is not a JSON number or has an exponent of more
// than 18 digits.
func ParseNumber(text json.Number) (n Number, ok bool) {
	n, power, ok := split(string(text))
	if !ok || n.digits == "" || power == "" {
		return n, ok
	}
	const limit, digits = 1e18, 18
	magnitude, negative := strings.CutPrefix(power, "-")
	magnitude = strings.TrimLeft(strings.TrimPrefix(magnitude, "+"), "0")
	if len(magnitude) > digits {
		return Number{}, false
	}
	exp, _ := strconv.ParseInt("0"+magnitude, 10, 64)
	if negative {
		exp = -exp
	}
	n.exp += exp
	if p := n.power(); p >= limit || p <= -limit {
		return Number{}, false
	}
	return n, true
}

// split returns a number without its power of ten, and the power. It returns false if text is not a JSON number.
func split(text string) (n Number, power string, ok bool) {
	n.sign = 1
	whole := text
	if len(text) > 0 && text[0] == '-' {
		n.sign, whole = -1, text[1:]
	}
	var fraction string
	if !isDigits(whole) { // most numbers are only digits
		if i := strings.IndexAny(whole, "eE"); i >= 0 {
			whole, power = whole[:i], whole[i+1:]
			if unsigned := strings.TrimLeft(power, "+-"); len(power)-len(unsigned) > 1 || !isDigits(unsigned) {
				return Number{}, "", false
			}
		}
		var isFraction bool
		whole, fraction, isFraction = strings.Cut(whole, ".")
		if !isDigits(whole) || isFraction && !isDigits(fraction) {
			return Number{}, "", false
		}
	}
	if len(whole) > 1 && whole[0] == '0' {
		return Number{}, "", false
	}
	digits := strings.TrimLeft(whole+fraction, "0")
	n.exp = int64(len(digits) - len(fraction))
	n.digits = strings.TrimRight(digits, "0")
	if n.digits == "" {
		return Number{}, power, true
	}
	return n, power, true
}

func isDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// Compare returns -1, 0 or 1 as n is less than, equal to or greater than m.
func (n Number) Compare(m Number) int {
	switch {
	case n.sign != m.sign:
		return cmp.Compare(n.sign, m.sign)
	case n.exp != m.exp:
		return n.sign * cmp.Compare(n.exp, m.exp)
	default:
		return n.sign * strings.Compare(n.digits, m.digits)
	}
}

// IsInt reports whether n is a whole number, such as 1.0 or 1e3.
func (n Number) IsInt() bool { return n.power() >= 0 }

// Rat returns n as a rational number. To bound the work, it returns false for a number with more than 400 digits, or
// beyond 10^400 or 10^-400.
func (n Number) Rat() (*big.Rat, bool) {
	const most = 400
	if len(n.digits) > most || n.exp < -most || n.exp > most {
		return nil, false
	}
	return new(big.Rat).SetString(n.String())
}

// String returns the canonical form of n: an integer that does not end with 0, and a power of ten. So 1.50 is 15e-1,
// 100 is 1e2, and 7 is 7.
func (n Number) String() string {
	if n.sign == 0 {
		return "0"
	}
	text := n.digits
	if n.sign < 0 {
		text = "-" + text
	}
	if power := n.power(); power != 0 {
		text += "e" + strconv.FormatInt(power, 10)
	}
	return text
}

// power returns the power of ten by which the digits, as an integer, are multiplied.
func (n Number) power() int64 { return n.exp - int64(len(n.digits)) }

package trajectory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// maxDepth is how deep an argument may nest, the limit of encoding/json.
const maxDepth = 10_000

var (
	errTooDeep = errors.New("nested too deeply")
	errPart    = errors.New("an argument matcher stands for a whole argument, not for a part of one")
)

// canonical returns v as decoded JSON in the form that matchers compare: map[string]any, []any, string, number, bool
// and nil. A Go value of another type counts as what encoding/json makes of it.
func canonical(v any) (any, error) { return canonicalAt(v, 0) }

func canonicalAt(v any, depth int) (any, error) {
	if depth > maxDepth {
		return nil, errTooDeep
	}
	switch v := v.(type) {
	case nil, bool, string, number:
		return v, nil
	case json.Number:
		return parseNumber(v.String())
	case int:
		return parseNumber(strconv.Itoa(v))
	case Arg:
		return nil, errPart
	case Args:
		return canonicalAt(map[string]any(v), depth)
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			c, err := canonicalAt(value, depth+1)
			if err != nil {
				return nil, inside(key, err)
			}
			m[key] = c
		}
		return m, nil
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			c, err := canonicalAt(value, depth+1)
			if err != nil {
				return nil, inside(fmt.Sprintf("[%d]", i), err)
			}
			list[i] = c
		}
		return list, nil
	default:
		return canonicalGo(v, depth)
	}
}

// inside says where in a value the error is, unless that would not help a person.
func inside(place string, err error) error {
	if errors.Is(err, errTooDeep) {
		return err
	}
	return fmt.Errorf("%s: %w", place, err)
}

// canonicalGo takes the way over JSON text.
func canonicalGo(v any, depth int) (any, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var decoded any
	if err := dec.Decode(&decoded); err != nil {
		return nil, err
	}
	return canonicalAt(decoded, depth)
}

// plain returns a canonical value as encoding/json would have decoded it, with numbers as json.Number.
func plain(v any) any {
	switch v := v.(type) {
	case number:
		return json.Number(v.text)
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			m[key] = plain(value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			list[i] = plain(value)
		}
		return list
	default:
		return v
	}
}

// equal reports whether two canonical values are the same JSON value.
func equal(a, b any) bool {
	switch a := a.(type) {
	case number:
		b, ok := b.(number)
		return ok && a.Equal(b)
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for key, value := range a {
			other, ok := b[key]
			if !ok || !equal(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case string:
		b, ok := b.(string)
		return ok && a == b
	default: // bool, nil
		switch b.(type) {
		case bool, nil:
			return a == b
		default:
			return false
		}
	}
}

// number is a JSON number. Its value is sign × 0.digits × 10^exp, exactly, however large: a float64 would make one of
// 9007199254740992 and 9007199254740993.
type number struct {
	text   string
	sign   int    // -1, 0, 1
	digits string // no zeros at either end; empty for zero
	exp    int
}

func parseNumber(text string) (number, error) {
	// JSON may have white space around a number.
	if !json.Valid([]byte(text)) || strings.Trim(text, "-0123456789.eE+") != "" {
		return number{}, fmt.Errorf("%q is not a number", text)
	}
	n := number{text: text, sign: 1}
	mantissa, power, _ := strings.Cut(strings.ToLower(text), "e")
	if power != "" {
		exp, err := strconv.ParseInt(power, 10, 32)
		if err != nil {
			return number{}, fmt.Errorf("number %s: the exponent is out of range", text)
		}
		n.exp = int(exp)
	}
	if rest, ok := strings.CutPrefix(mantissa, "-"); ok {
		n.sign, mantissa = -1, rest
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	n.exp += len(whole) - (len(whole) + len(fraction) - len(digits))
	n.digits = strings.TrimRight(digits, "0")
	if n.digits == "" {
		n.sign, n.exp = 0, 0
	}
	return n, nil
}

// Equal reports whether n and m are the same number, so 1 is 1.0.
func (n number) Equal(m number) bool {
	return n.sign == m.sign && n.exp == m.exp && n.digits == m.digits
}

// compare returns -1, 0 or 1 as n is less than, equal to or greater than m.
func (n number) compare(m number) int {
	switch {
	case n.Equal(m):
		return 0
	case n.sign != m.sign:
		if n.sign < m.sign {
			return -1
		}
		return 1
	case n.exp != m.exp:
		if n.exp < m.exp {
			return -n.sign
		}
		return n.sign
	default:
		return n.sign * strings.Compare(n.digits, m.digits)
	}
}

// around returns n-d and n+d exactly. Both must be of the size of a float64, which bounds the work.
func (n number) around(d number) (low, high number, err error) {
	const limit = 400
	places := 0
	for _, x := range []number{n, d} {
		if x.exp < -limit || x.exp > limit {
			return low, high, fmt.Errorf("number %s is out of range", x.text)
		}
		places = max(places, len(x.digits)-x.exp)
	}
	a, okA := new(big.Rat).SetString(n.text)
	b, okB := new(big.Rat).SetString(d.text)
	if !okA || !okB {
		return low, high, fmt.Errorf("%s or %s is not a number", n.text, d.text)
	}
	low, errLow := parseNumber(new(big.Rat).Sub(a, b).FloatString(places))
	high, errHigh := parseNumber(new(big.Rat).Add(a, b).FloatString(places))
	return low, high, errors.Join(errLow, errHigh)
}

// MarshalJSON writes the number as it was given.
func (n number) MarshalJSON() ([]byte, error) { return []byte(n.text), nil }

// typeName returns the JSON type of a canonical value.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case number:
		if v.exp >= len(v.digits) {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}

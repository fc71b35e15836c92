package jsonpath

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// Decode decodes one JSON value with nothing after it. Numbers become [json.Number].
func Decode(data []byte) (any, error) {
	if !utf8.Valid(data) {
		return nil, errors.New("it is not UTF-8")
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errors.New("it is empty")
		}
		return nil, err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("something follows after its end")
	}
	return v, nil
}

// Equal reports whether two decoded values are the same. Numbers are compared by what they are worth: 1 equals 1.0.
func Equal(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && equalNumbers(a, b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, Equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, Equal)
	default: // string, bool, nil
		switch b.(type) {
		case json.Number, []any, map[string]any:
			return false
		}
		return a == b
	}
}

func equalNumbers(a, b json.Number) bool {
	x, ok := Number(a)
	y, both := Number(b)
	if !ok || !both {
		return a == b // beyond what is computed with
	}
	return x.Cmp(y) == 0
}

// Number returns the exact value of a number, and false if it is longer or larger than numbers that anybody means, which
// bounds the work.
func Number(n json.Number) (*big.Rat, bool) {
	const maxLength, maxExponent = 400, 400
	text := n.String()
	if i := strings.IndexAny(text, "eE"); i >= 0 {
		if exp, err := strconv.Atoi(text[i+1:]); err != nil || exp < -maxExponent || exp > maxExponent {
			return nil, false
		}
	}
	if len(text) > maxLength {
		return nil, false
	}
	return new(big.Rat).SetString(text)
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

// maxShown is how many runes of a value are shown.
const maxShown = 80

// Show returns a decoded value as JSON on one line, cut where it is long.
func Show(v any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return Type(v) // a number that somebody made up
	}
	return excerpt.Head(strings.TrimSuffix(b.String(), "\n"), maxShown)
}

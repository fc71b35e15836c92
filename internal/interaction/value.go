package interaction

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// canonical returns v as decoded JSON in which equal values are equal Go values: map[string]any, []any, string,
// json.Number, bool and nil. It panics if v cannot be JSON.
func canonical(v any) any {
	switch v := v.(type) {
	case nil, bool, string:
		return v
	case int:
		return json.Number(strconv.Itoa(v))
	case json.Number:
		return number(v)
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			m[key] = canonical(value)
		}
		return m
	case []any:
		list := make([]any, len(v))
		for i, value := range v {
			list[i] = canonical(value)
		}
		return list
	}
	data, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("interaction: arguments have to be JSON: %v", err))
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var decoded any
	if err := d.Decode(&decoded); err != nil {
		panic(fmt.Sprintf("interaction: arguments have to be JSON: %v", err))
	}
	return canonical(decoded)
}

// maxExact is the size up to which every whole number is a float64.
const maxExact = 1 << 53

// number writes a number in one of its forms: 1 for 1.0 and 1e0. What no float64 holds exactly keeps its own, so that no
// two large ids become one.
func number(n json.Number) json.Number {
	if !strings.ContainsAny(n.String(), ".eE") {
		if n == "-0" {
			return "0"
		}
		return n
	}
	f, err := n.Float64()
	switch {
	case err != nil:
		return n
	case f == float64(int64(f)) && -maxExact < f && f < maxExact:
		return json.Number(strconv.FormatInt(int64(f), 10))
	}
	return json.Number(strconv.FormatFloat(f, 'g', -1, 64))
}

// keyOf returns the digest of a request with canonical arguments.
func keyOf(tool string, args any) key {
	h := sha256.New()
	fmt.Fprintf(h, "%q", tool)
	h.Write(encode(args))
	return key(h.Sum(nil))
}

// encode returns a canonical value as JSON on one line, its keys sorted.
func encode(v any) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(fmt.Sprintf("interaction: arguments have to be JSON: %v", err))
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}

// equal reports whether two canonical values are the same.
func equal(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	}
	switch b.(type) {
	case map[string]any, []any:
		return false
	}
	return a == b
}

// contains reports whether a canonical value has all that part says: of an object the members that part names, of
// anything else the whole. An empty object says nothing.
func contains(v, part any) bool {
	want, ok := part.(map[string]any)
	if !ok {
		return equal(v, part)
	}
	got, _ := v.(map[string]any)
	for name, value := range want {
		other, ok := got[name]
		if !ok || !contains(other, value) {
			return false
		}
	}
	return true
}

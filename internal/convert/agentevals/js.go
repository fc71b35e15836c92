package agentevals

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// undefined is JavaScript's undefined. Other values are as in JSON, with numbers as float64.
type undefined struct{}

// function is a method that all JavaScript objects inherit.
type function struct{ name string }

// script returns a decoded JSON value as JavaScript would: numbers are doubles.
func script(v any) any {
	switch v := v.(type) {
	case json.Number:
		f, _ := strconv.ParseFloat(v.String(), 64) // out of range it is infinite, as there
		return f
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = script(v[i])
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			m[key] = script(value)
		}
		return m
	default:
		return v
	}
}

// plain returns a value as JSON.stringify does: numbers that are not finite are null.
func plain(v any) any {
	switch v := v.(type) {
	case float64:
		if math.IsInf(v, 0) {
			return nil
		}
		return v
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = plain(v[i])
		}
		return list
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			m[key] = plain(value)
		}
		return m
	default:
		return v
	}
}

// parseScript is JSON.parse.
func parseScript(text string) (any, error) {
	v, err := decode([]byte(text))
	return script(v), err
}

// methods are the names that every object answers to.
var methods = []string{
	"__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__", "constructor", "hasOwnProperty",
	"isPrototypeOf", "propertyIsEnumerable", "toLocaleString", "toString", "valueOf",
}

// property returns what an object or an array has under the key, its own or inherited: the operator "in".
func property(v any, key string) (any, bool) {
	own := "object"
	switch v := v.(type) {
	case map[string]any:
		if value, ok := v[key]; ok {
			return value, true
		}
	case []any:
		if key == "length" {
			return float64(len(v)), true
		}
		if i, err := strconv.Atoi(key); err == nil && i >= 0 && i < len(v) && strconv.Itoa(i) == key {
			return v[i], true
		}
		own = "array"
	default:
		return nil, false
	}
	switch {
	case key == "__proto__":
		return map[string]any{}, true
	case !slices.Contains(methods, key):
		return nil, false
	case key == "constructor" || key == "toString" || key == "toLocaleString":
		return function{own + "." + key}, true // arrays have their own
	default:
		return function{key}, true
	}
}

// isObject reports whether the value is an object or an array.
func isObject(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return true
	default:
		return false
	}
}

// keys returns the names of a value's own properties.
func keys(v any) []string {
	var names []string
	switch v := v.(type) {
	case map[string]any:
		for name := range v {
			names = append(names, name)
		}
	case []any:
		for i := range v {
			names = append(names, strconv.Itoa(i))
		}
	case string:
		for i := range utf16.Encode([]rune(v)) {
			names = append(names, strconv.Itoa(i))
		}
	}
	return names
}

// isNothing reports whether the value is null or undefined.
func isNothing(v any) bool { return v == nil || v == undefined{} }

// deepEqual compares as AgentEvals does, unlike jsonvalue.Equal: numbers are doubles, null is undefined, and an array
// is an object with its indexes as keys.
func deepEqual(a, b any) bool {
	if isNothing(a) && isNothing(b) {
		return true
	}
	switch x := a.(type) {
	case map[string]any:
		if y, ok := b.(map[string]any); ok {
			return sameObject(x, y)
		}
	case []any:
		if y, ok := b.([]any); ok {
			return slices.EqualFunc(x, y, deepEqual)
		}
	default:
		return !isObject(b) && a == b
	}
	if !isObject(b) {
		return false
	}
	names := keys(a)
	if len(names) != len(keys(b)) {
		return false
	}
	for _, name := range names {
		x, _ := property(a, name)
		y, ok := property(b, name)
		if !ok || !deepEqual(x, y) {
			return false
		}
	}
	return true
}

func sameObject(a, b map[string]any) bool {
	if len(a) != len(b) {
		return false
	}
	for name, value := range a {
		other, ok := b[name]
		if !ok || !deepEqual(value, other) {
			return false
		}
	}
	return true
}

// contains reports whether whole has every key of part with an equal value: AgentEvals' subset of arguments.
func contains(whole, part any) (bool, error) {
	if isNothing(part) {
		return false, errors.New("arguments that are null cannot be compared key by key")
	}
	if s, ok := part.(string); ok {
		units := utf16.Encode([]rune(s))
		list := make([]any, len(units))
		for i, u := range units {
			list[i] = string(utf16.Decode([]uint16{u}))
		}
		part = list
	}
	for _, name := range keys(part) {
		if !isObject(whole) {
			return false, fmt.Errorf("arguments that are not an object have no key %q", name)
		}
		want, _ := property(part, name)
		got, ok := property(whole, name)
		if !ok || !deepEqual(got, want) {
			return false, nil
		}
	}
	return true, nil
}

// nested returns the value at a path.
func nested(v any, path []string) any {
	for _, name := range path {
		next, ok := property(v, name)
		if !ok {
			return undefined{}
		}
		v = next
	}
	return v
}

// comparison compares the arguments of two calls, as JavaScript values. Overrides name comparisons.
type comparison func(a, b any) bool

// comparisons are the functions that overrides may name, each made for the argument after the colon in its name.
// AgentEvals calls them with the actual arguments first, except in subset and in one direction of unordered, where the
// sides are swapped; byMatchers always calls them with (actual, expected).
//
//	ci_equal:x     x is the same text, whatever the case
//	ci_contains:x  a's text x contains b's, whatever the case
//	suffix:x       a's text x ends with b's, whatever the case
//	ge:x           a's number x is at least b's
//	always, never  true, false
//	both_sf        both cities are San Francisco, by either name
//	lookup_policy_query_matcher  if b's query contains "upgrade", so does a's
//
// A text that is missing or null is empty, and such a number is 0.
var comparisons = map[string]func(arg string) comparison{
	"ci_equal":    texts(func(a, b string) bool { return a == b }),
	"ci_contains": texts(strings.Contains),
	"suffix":      texts(strings.HasSuffix),
	"ge": func(arg string) comparison {
		return func(a, b any) bool { return numberOf(argument(a, arg)) >= numberOf(argument(b, arg)) }
	},
	"always": constant(true),
	"never":  constant(false),
	"both_sf": func(string) comparison {
		here := func(v any) bool {
			city := argument(v, "city")
			return city == "SF" || city == "San Francisco"
		}
		return func(a, b any) bool { return here(a) && here(b) }
	},
	"lookup_policy_query_matcher": func(string) comparison {
		upgrade := func(v any) bool { return strings.Contains(textOf(argument(v, "query")), "upgrade") }
		return func(a, b any) bool { return !upgrade(b) || upgrade(a) }
	},
}

func comparisonByName(name string) (comparison, error) {
	kind, arg, hasArg := strings.Cut(name, ":")
	of, ok := comparisons[kind]
	takes := strings.HasPrefix(kind, "ci_") || kind == "suffix" || kind == "ge"
	if !ok || takes != (hasArg && arg != "") {
		return nil, fmt.Errorf("unknown function %q", name)
	}
	return of(arg), nil
}

func texts(holds func(a, b string) bool) func(string) comparison {
	return func(arg string) comparison {
		lower := func(v any) string { return strings.ToLower(textOf(argument(v, arg))) }
		return func(a, b any) bool { return holds(lower(a), lower(b)) }
	}
}

func constant(answer bool) func(string) comparison {
	return func(string) comparison { return func(any, any) bool { return answer } }
}

// argument returns an argument by its name, nil if it is missing.
func argument(args any, name string) any {
	m, _ := args.(map[string]any)
	return m[name]
}

func textOf(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	default:
		text, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(text)
	}
}

func numberOf(v any) float64 {
	switch v := v.(type) {
	case nil:
		return 0
	case float64:
		return v
	case bool:
		if v {
			return 1
		}
		return 0
	case string:
		if f, err := strconv.ParseFloat(strings.TrimSpace(v), 64); err == nil {
			return f
		}
	}
	return math.NaN() // compares with nothing
}

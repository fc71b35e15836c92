package match

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// comparison compares the arguments of two calls: a function that an override names. Values are as JavaScript has them.
type comparison func(a, b any) bool

// comparisons are the functions that overrides may name, each made for the argument after the colon in its name.
// AgentEvals calls them with the actual arguments first, except in subset and in one direction of unordered, where the
// sides are swapped; ours are always called (actual, expected).
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
	if takes := strings.HasPrefix(kind, "ci_") || kind == "suffix" || kind == "ge"; !ok || takes != (hasArg && arg != "") {
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

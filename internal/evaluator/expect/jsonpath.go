package expect

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// JSONPath leads to a value in a document, as lines[0].price does. The zero value leads to the whole document.
type JSONPath struct {
	text  string
	steps []step
}

// step is a key, or an index of an array.
type step struct {
	key   string
	index int // -1: it is a key
	end   int // of the step in the path's text
}

// ParseJSONPath parses a path: keys that are joined by dots, each followed by any number of indexes such as [0]. A key
// that has dots, brackets or quotes in it is written ["a.b"], as in JSON. A path may begin with $, the document.
func ParseJSONPath(text string) (JSONPath, error) {
	p := JSONPath{text: text}
	rest := text
	if after, ok := strings.CutPrefix(text, "$"); ok && (after == "" || after[0] == '.' || after[0] == '[') {
		if rest = after; rest != "" && rest[0] == '.' {
			rest = rest[1:]
			if rest == "" || rest[0] == '[' {
				return JSONPath{}, errors.New("a key is missing after the dot")
			}
		}
	} else if strings.HasPrefix(text, "/") { // a key that nobody has: `exists: false` would always hold
		return JSONPath{}, fmt.Errorf(`%q is no path: write a.b[0], or ["/a"] for a key with a slash`, text)
	} else if text == "" {
		return JSONPath{}, errors.New("must not be empty: $ is the whole document")
	}
	for rest != "" {
		s, after, err := parseStep(rest)
		if err != nil {
			return JSONPath{}, err
		}
		s.end = len(text) - len(after)
		p.steps = append(p.steps, s)
		if rest = after; rest == "" || rest[0] == '[' {
			continue
		}
		if rest[0] != '.' {
			return JSONPath{}, fmt.Errorf("%q must be followed by a dot, [, or nothing", text[:s.end])
		}
		if rest = rest[1:]; rest == "" || rest[0] == '[' {
			return JSONPath{}, errors.New("a key is missing after the dot")
		}
	}
	return p, nil
}

// parseStep parses the first step of a path that is not empty.
func parseStep(text string) (s step, rest string, err error) {
	if quoted, ok := strings.CutPrefix(text, `["`); ok {
		return parseQuoted(quoted)
	}
	if bracketed, ok := strings.CutPrefix(text, "["); ok {
		number, rest, ok := strings.Cut(bracketed, "]")
		index, err := strconv.Atoi(number)
		if !ok || err != nil || strconv.Itoa(index) != number || index < 0 {
			return step{}, "", fmt.Errorf("[%s is neither an index like [0] nor a key like [\"a.b\"]",
				excerpt.Head(bracketed, maxShown))
		}
		return step{index: index}, rest, nil
	}
	end := strings.IndexAny(text, ".[")
	if end < 0 {
		end = len(text)
	}
	key := text[:end]
	switch {
	case key == "":
		return step{}, "", errors.New("a key is missing before the dot")
	case strings.ContainsAny(key, `]"'*`):
		return step{}, "", fmt.Errorf(`%q: only keys and indexes are supported; write other characters as ["key"]`, key)
	}
	return step{key: key, index: -1}, text[end:], nil
}

// parseQuoted parses what follows [" in a path.
func parseQuoted(text string) (s step, rest string, err error) {
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			after, closed := strings.CutPrefix(text[i+1:], "]")
			if !closed || json.Unmarshal([]byte(`"`+text[:i+1]), &s.key) != nil {
				return step{}, "", fmt.Errorf("[\"%s is not like [\"a.b\"]", excerpt.Head(text, maxShown))
			}
			s.index = -1
			return s, after, nil
		}
	}
	return step{}, "", fmt.Errorf("[\"%s is not closed", excerpt.Head(text, maxShown))
}

// String returns the path as it was parsed.
func (p JSONPath) String() string { return p.text }

// Find returns the value that the path leads to. If there is none, missing says why.
func (p JSONPath) Find(document any) (value any, missing string) {
	value = document
	for i, s := range p.steps {
		at := "the document"
		if i > 0 {
			at = p.text[:p.steps[i-1].end]
		}
		if s.index >= 0 {
			list, ok := value.([]any)
			switch {
			case !ok:
				return nil, at + " is " + jsonvalue.Type(value) + ", not an array"
			case s.index >= len(list):
				return nil, fmt.Sprintf("%s has no element %d, its length is %d", at, s.index, len(list))
			}
			value = list[s.index]
			continue
		}
		object, ok := value.(map[string]any)
		if !ok {
			return nil, at + " is " + jsonvalue.Type(value) + ", not an object"
		}
		if value, ok = object[s.key]; !ok {
			return nil, fmt.Sprintf("%s has no key %q", at, s.key)
		}
	}
	return value, ""
}

// maxShown is how many runes of a value are shown.
const maxShown = 80

// ShowJSON returns a decoded value as JSON on one line, cut where it is long.
func ShowJSON(v any) string { return excerpt.Head(jsonvalue.Compact(v), maxShown) }

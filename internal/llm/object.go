package llm

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// ParseObject finds the one JSON object in a model's reply: the whole reply, or else the content of its first fenced
// block, or else the first object in the text. Text around it is allowed if it has no braces or brackets. Everything
// ambiguous is an error: a second object, a block that has more than the object or is not closed, an object in an
// array, and an object with a duplicate key.
func ParseObject(text string) (json.RawMessage, error) { return parseOne(text, object) }

// shape is what of JSON a reply is to have: how that begins, and what it is called.
type shape struct{ open, name string }

var object, list = shape{"{", "object"}, shape{"[", "list"}

// parseOne finds the one object or list in a reply, by the rules of [ParseObject].
func parseOne(text string, as shape) (json.RawMessage, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("the reply is not valid UTF-8")
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, errors.New("the reply is empty")
	}
	value, outside, err := locate(text, as)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(outside, "{}[]") {
		return nil, fmt.Errorf("the reply has more than one JSON %s, or a part of one", as.name)
	}
	if err := jsonvalue.DecodeStrict([]byte(value), new(json.RawMessage), 0); err != nil {
		return nil, fmt.Errorf("the reply's JSON %s: %w", as.name, err)
	}
	return json.RawMessage(value), nil
}

// locate splits a reply into an object or a list, which is valid JSON, and the text around it.
func locate(text string, as shape) (value, outside string, err error) {
	if strings.HasPrefix(text, as.open) && json.Valid([]byte(text)) {
		return text, "", nil
	}
	if before, block, after, ok := fenced(text); ok {
		block = strings.TrimSpace(block)
		if !strings.HasPrefix(block, as.open) || !json.Valid([]byte(block)) {
			return "", "", fmt.Errorf("the reply's fenced block is not one JSON %s", as.name)
		}
		return block, before + after, nil
	}
	start := strings.Index(text, as.open)
	if start < 0 {
		return "", "", fmt.Errorf("the reply has no JSON %s", as.name)
	}
	decoder := json.NewDecoder(strings.NewReader(text[start:]))
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return "", "", fmt.Errorf("the reply's JSON %s: %w", as.name, err)
	}
	end := start + int(decoder.InputOffset())
	return string(raw), text[:start] + text[end:], nil
}

// fenced returns the text before, in and after the first fenced block. A line of an object cannot begin with a fence,
// since a JSON string has no line breaks. A block that is not closed is the rest of the text, with its fence.
func fenced(text string) (before, block, after string, ok bool) {
	const fence = "```"
	var start, body int
	switch i := strings.Index("\n"+text, "\n"+fence); {
	case i < 0:
		return "", "", "", false
	default:
		start = i
	}
	if body = strings.IndexByte(text[start:], '\n'); body < 0 {
		return text[:start], text[start:], "", true
	}
	body += start
	end := strings.Index(text[body:], "\n"+fence)
	if end < 0 {
		return text[:start], text[start:], "", true
	}
	end += body
	return text[:start], text[body:end], text[end+1+len(fence):], true
}

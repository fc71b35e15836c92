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
func ParseObject(text string) (json.RawMessage, error) {
	if !utf8.ValidString(text) {
		return nil, errors.New("the reply is not valid UTF-8")
	}
	text = strings.TrimSpace(text)
	if text == "" {
		return nil, errors.New("the reply is empty")
	}
	object, outside, err := locate(text)
	if err != nil {
		return nil, err
	}
	if strings.ContainsAny(outside, "{}[]") {
		return nil, errors.New("the reply has more than one JSON object, or a part of one")
	}
	if err := jsonvalue.DecodeStrict([]byte(object), new(json.RawMessage), 0); err != nil {
		return nil, fmt.Errorf("the reply's JSON object: %w", err)
	}
	return json.RawMessage(object), nil
}

// locate splits a reply into an object, which is valid JSON, and the text around it.
func locate(text string) (object, outside string, err error) {
	if text[0] == '{' && json.Valid([]byte(text)) {
		return text, "", nil
	}
	if before, block, after, ok := fenced(text); ok {
		block = strings.TrimSpace(block)
		if !strings.HasPrefix(block, "{") || !json.Valid([]byte(block)) {
			return "", "", errors.New("the reply's fenced block is not one JSON object")
		}
		return block, before + after, nil
	}
	start := strings.IndexByte(text, '{')
	if start < 0 {
		return "", "", errors.New("the reply has no JSON object")
	}
	decoder := json.NewDecoder(strings.NewReader(text[start:]))
	var raw json.RawMessage
	if err := decoder.Decode(&raw); err != nil {
		return "", "", fmt.Errorf("the reply's JSON object: %w", err)
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

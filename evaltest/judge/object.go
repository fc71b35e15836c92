package judge

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// object is a JSON object whose values are not decoded yet.
type object map[string]json.RawMessage

// parseObject reads a text that is one JSON object and nothing else. Keys are those listed, exactly, and neither it nor
// an object within has a key twice. Errors say what the text is or has, to be put behind a word for it: "is not a JSON
// object".
func parseObject(text []byte, keys ...string) (object, error) {
	var o object
	err := jsonvalue.DecodeStrict(text, &o, 0)
	_, other := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case other, err == nil && o == nil:
		return nil, errors.New("is not a JSON object")
	case errors.Is(err, jsonvalue.ErrTrailing):
		return nil, errors.New("has text after its JSON object")
	case errors.Is(err, jsonvalue.ErrDuplicateKey):
		return nil, fmt.Errorf("has a %w", err)
	case err != nil:
		return nil, fmt.Errorf("is not JSON: %w", err)
	}
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(keys, key) {
			return nil, fmt.Errorf("has an unknown key %q: the keys are %s", key, strings.Join(keys, ", "))
		}
	}
	return o, nil
}

// has reports whether there is a value, which null is not.
func (o object) has(key string) bool {
	value, ok := o[key]
	return ok && !bytes.Equal(value, []byte("null"))
}

// decode stores the value of a key, if there is one, in what v points to.
func (o object) decode(key, want string, v any) error {
	if !o.has(key) {
		return nil
	}
	if err := json.Unmarshal(o[key], v); err != nil {
		return fmt.Errorf("%s must be %s, not %s", key, want, excerpt.Quote(string(o[key]), 80))
	}
	return nil
}

// texts returns a list of strings. Null is no string.
func (o object) texts(key string) ([]string, error) {
	var items []*string
	if err := o.decode(key, "a list of strings", &items); err != nil {
		return nil, err
	}
	var texts []string
	for i, item := range items {
		if item == nil {
			return nil, fmt.Errorf("%s[%d] must be a string, not null", key, i)
		}
		texts = append(texts, *item)
	}
	return texts, nil
}

// score returns a number in 0..1, nil if there is none.
func (o object) score() (*float64, error) {
	var score *float64
	err := o.decode("score", "a number", &score)
	tooLarge := err != nil && strings.ContainsAny(string(o["score"][:1]), "-0123456789") // a number, but for no float64
	if tooLarge || score != nil && !(*score >= 0 && *score <= 1) {
		return nil, fmt.Errorf("score %.40s is out of range: it is from 0 to 1", o["score"])
	}
	return score, err
}

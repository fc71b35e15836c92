package judge

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// object is a JSON object whose values are not decoded yet.
type object struct{ jsonvalue.Object }

// parseObject reads a text that is one JSON object and nothing else. Keys are those listed, exactly, and neither it nor
// an object within has a key twice. Errors say what the text is or has, to be put behind a word for it: "is not a JSON
// object".
func parseObject(text []byte, keys ...string) (object, error) {
	var o jsonvalue.Object
	err := jsonvalue.DecodeStrict(text, &o, 0)
	_, other := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case other, err == nil && o == nil:
		return object{}, errors.New("is not a JSON object")
	case errors.Is(err, jsonvalue.ErrTrailing):
		return object{}, errors.New("has text after its JSON object")
	case errors.Is(err, jsonvalue.ErrDuplicateKey):
		return object{}, fmt.Errorf("has a %w", err)
	case err != nil:
		return object{}, fmt.Errorf("is not JSON: %w", err)
	}
	if err := o.Only(keys...); err != nil {
		return object{}, fmt.Errorf("has an %w", err)
	}
	return object{o}, nil
}

// has reports whether there is a value, which null is not.
func (o object) has(key string) bool {
	value, ok := o.Object[key]
	return ok && string(value) != "null"
}

// decode stores the value of a key, if there is one, in what v points to.
func (o object) decode(key, want string, v any) error {
	if !o.has(key) {
		return nil
	}
	return o.Decode(key, want, v)
}

// texts returns a list of strings, if there is one.
func (o object) texts(key string) (texts []string, err error) {
	if o.has(key) {
		err = o.Texts(key, &texts)
	}
	return texts, err
}

// score returns a number in 0..1, nil if there is none.
func (o object) score() (*float64, error) {
	if !o.has("score") {
		return nil, nil
	}
	var score float64
	err := o.Number("score", 1, &score)
	return &score, err
}

package jsonvalue

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// Object is an object whose members are decoded one at a time, by their exact keys. Null is a value of no type.
type Object map[string]json.RawMessage

// Only returns an error if there is a key besides these.
func (o Object) Only(keys ...string) error {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(keys, key) {
			return fmt.Errorf("unknown key %q: the keys are %s", key, strings.Join(keys, ", "))
		}
	}
	return nil
}

// Decode stores the value of a key, which has to be there, in what v points to. Want says what that is: "a string".
func (o Object) Decode(key, want string, v any) error {
	text, ok := o[key]
	if !ok {
		return fmt.Errorf("%s is missing", key)
	}
	if err := json.Unmarshal(text, v); err != nil || string(text) == "null" { // null leaves a Go value as it is
		return fmt.Errorf("%s must be %s, not %.80q", key, want, text)
	}
	return nil
}

// Number stores a number from 0 to most.
func (o Object) Number(key string, most float64, v *float64) error {
	err := o.Decode(key, "a number", v)
	_, isNumber := ParseNumber(json.Number(o[key])) // if only one that no float64 can be
	if isNumber && (err != nil || !(*v >= 0 && *v <= most)) {
		return fmt.Errorf("%s %.40s is out of range: it is from 0 to %v", key, o[key], most)
	}
	*v = math.Abs(*v) // -0
	return err
}

// Texts stores a list of strings.
func (o Object) Texts(key string, v *[]string) error {
	var list []*string
	if err := o.Decode(key, "a list of strings", &list); err != nil {
		return err
	}
	for i, text := range list {
		if text == nil {
			return fmt.Errorf("%s[%d] must be a string, not null", key, i)
		}
		*v = append(*v, *text)
	}
	return nil
}

package acptest

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// object is a JSON object, loosely: its getters return zero values for what is absent or of another type.
type object map[string]any

func (o object) has(name string) bool {
	_, ok := o[name]
	return ok
}

func (o object) text(name string) string {
	s, _ := o[name].(string)
	return s
}

func (o object) object(name string) object {
	switch v := o[name].(type) {
	case object:
		return v
	case map[string]any:
		return v
	}
	return nil
}

// list returns the objects of an array.
func (o object) list(name string) []object {
	var list []object
	items, _ := o[name].([]any)
	for _, item := range items {
		v, _ := item.(map[string]any)
		list = append(list, v)
	}
	return list
}

// number returns a whole number.
func (o object) number(name string) (int, bool) {
	f, ok := o[name].(float64)
	return int(f), ok && f == math.Trunc(f)
}

// oneOf reports whether the value is absent or one of those.
func (o object) oneOf(name string, known ...string) bool {
	return !o.has(name) || o[name] == nil || slices.Contains(known, o.text(name))
}

// response is the answer to a request. Result is not nil if Error is.
type response struct {
	Result object
	Error  object
}

// outcome describes a response in a few words.
func (r response) outcome() string {
	if r.Error != nil {
		return "the error " + clip(compact(r.Error))
	}
	return "the result " + clip(compact(r.Result))
}

func compact(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return string(text)
}

// clip shortens a message for people.
func clip(text string) string { return excerpt.Head(text, 160) }

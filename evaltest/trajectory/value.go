package trajectory

import (
	"encoding/json"
	"errors"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

var errPart = errors.New("an argument matcher stands for a whole argument, not for a part of one")

// valueOf returns v as decoded JSON, which is what matchers compare.
func valueOf(v any) (any, error) {
	if args, ok := v.(Args); ok {
		v = map[string]any(args)
	}
	return jsonvalue.Of(v)
}

// numberOf returns the value of a number, false for what is none.
func numberOf(v any) (jsonvalue.Number, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return jsonvalue.Number{}, false
	}
	return jsonvalue.ParseNumber(n)
}

// typeName returns the JSON type of a decoded value.
func typeName(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if n, ok := jsonvalue.ParseNumber(v); ok && n.IsInt() {
			return "integer"
		}
		return "number"
	case []any:
		return "array"
	default:
		return "object"
	}
}

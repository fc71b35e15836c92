package doc

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// Of returns the document that decodes to v, a struct with the tags of [Node.Decode], for values that were written in Go
// to be checked as those of a file are. Zero values are keys that are not there, and positions mean nothing. It panics
// if v cannot be written as JSON.
func Of(v any) *Document {
	text, err := json.Marshal(written(reflect.ValueOf(v)))
	if err != nil {
		panic(fmt.Sprintf("doc: %v", err))
	}
	return Parse("", text)
}

// written returns v as a file would have it.
func written(v reflect.Value) any {
	if d, ok := v.Interface().(time.Duration); ok {
		return d.String()
	}
	switch v.Kind() {
	case reflect.Struct:
		keys := make(map[string]any)
		for _, f := range shapeOf(v.Type()).fields {
			if value := v.Field(f.index); !value.IsZero() {
				keys[f.name] = written(value)
			}
		}
		return keys
	case reflect.Slice:
		items := make([]any, v.Len())
		for i := range items {
			items[i] = written(v.Index(i))
		}
		return items
	default:
		return v.Interface()
	}
}

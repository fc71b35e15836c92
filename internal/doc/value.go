package doc

import (
	"encoding/json"
	"fmt"
	"reflect"
	"time"
)

// Of returns the document that decodes to v, a struct with the tags of [Node.Decode], so that values written in Go can
// be checked like those of a file. Zero values become absent keys. Positions have no meaning. Of panics if v cannot be
// written as JSON.
func Of(v any) *Document {
	text, err := json.Marshal(written(reflect.ValueOf(v)))
	if err != nil {
		panic(fmt.Sprintf("doc: %v", err))
	}
	return Parse("", text)
}

// written returns v as it would be in a file.
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

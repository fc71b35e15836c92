package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
)

// encoder writes structs of the schema as JSON, on one line.
type encoder struct {
	buf  bytes.Buffer
	leaf *json.Encoder // onto buf
}

// marshal encodes v, a struct of the schema. A variant has its discriminator.
func marshal(v any) ([]byte, error) {
	e := new(encoder)
	e.leaf = json.NewEncoder(&e.buf)
	e.leaf.SetEscapeHTML(false)
	if err := e.value(reflect.ValueOf(v), true); err != nil {
		return nil, fmt.Errorf("acp: encode %T: %w", v, err)
	}
	return e.buf.Bytes(), nil
}

// patch is any [Patch].
type patch interface {
	wire() any
}

func (p Patch[T]) wire() any {
	if p.Null {
		return json.RawMessage("null")
	}
	return p.Value
}

// value writes v. If it is a variant of a union and tagged is set, it gets its discriminator.
func (e *encoder) value(v reflect.Value, tagged bool) error {
	if p, ok := v.Interface().(patch); ok {
		return e.value(reflect.ValueOf(p.wire()), false)
	}
	switch {
	case v.Type() == typeRaw:
		return e.write(v.Interface())
	case v.Kind() == reflect.Interface && v.IsNil(), v.Kind() == reflect.Pointer && v.IsNil():
		return e.write(nil)
	case v.Kind() == reflect.Interface:
		return e.value(v.Elem(), true)
	case v.Kind() == reflect.Pointer:
		return e.value(v.Elem(), tagged)
	case v.Type() == reflect.TypeFor[Other]():
		return e.write(v.Interface().(Other).Raw)
	case v.Kind() == reflect.Struct:
		return e.object(planOf(v.Type()), v, tagged)
	case v.Kind() == reflect.Slice:
		return e.array(v)
	default:
		return e.write(v.Interface())
	}
}

func (e *encoder) array(v reflect.Value) error {
	e.buf.WriteByte('[')
	for i := range v.Len() {
		if i > 0 {
			e.buf.WriteByte(',')
		}
		if err := e.value(v.Index(i), false); err != nil {
			return err
		}
	}
	e.buf.WriteByte(']')
	return nil
}

func (e *encoder) object(p *structPlan, v reflect.Value, tagged bool) error {
	extra := v.Field(p.extra).Interface().(Extra)
	e.buf.WriteByte('{')
	n := 0
	member := func(name string, value reflect.Value) error {
		if n++; n > 1 {
			e.buf.WriteByte(',')
		}
		if err := e.write(name); err != nil {
			return err
		}
		e.buf.WriteByte(':')
		if err := e.value(value, false); err != nil {
			return fmt.Errorf("field %q: %w", name, err)
		}
		return nil
	}
	if tagged && p.tag.key != "" {
		if err := member(p.tag.key, reflect.ValueOf(p.tag.kind)); err != nil {
			return err
		}
	}
	for _, f := range p.fields {
		value := v.Field(f.index)
		if _, shadowed := extra.Unknown[f.name]; shadowed || f.omitZero && value.IsZero() {
			continue
		}
		if err := member(f.name, value); err != nil {
			return err
		}
	}
	if extra.Meta != nil {
		if err := member("_meta", reflect.ValueOf(extra.Meta)); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(extra.Unknown)) {
		if err := member(name, reflect.ValueOf(extra.Unknown[name])); err != nil {
			return err
		}
	}
	e.buf.WriteByte('}')
	return nil
}

// write writes a value that encoding/json can encode as it is.
func (e *encoder) write(v any) error {
	if err := e.leaf.Encode(v); err != nil {
		return err
	}
	e.buf.Truncate(e.buf.Len() - 1) // Encode ends with a newline
	return nil
}

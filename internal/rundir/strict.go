package rundir

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// A strictDecoder decodes JSON that this program wrote. It refuses what encoding/json would take and another reader
// might take differently: a key that is there twice, and one that no field has. The zero value is ready.
type strictDecoder struct {
	again  bytes.Buffer
	fields map[reflect.Type]map[string]reflect.Type // by key, of each type that was asked for
}

// decode decodes one value, a line or a file, into v, a pointer.
func (d *strictDecoder) decode(text []byte, v any) error {
	text = bytes.TrimSuffix(text, []byte("\n"))
	if err := json.Unmarshal(text, v); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok && syntax.Offset == int64(len(text)) {
			return fmt.Errorf("it is cut: %w", err)
		}
		return err
	}
	// Nearly all is as we wrote it, which is seen fastest by writing it again.
	d.again.Reset()
	if err := encodeLine(&d.again, v); err != nil {
		return err
	}
	if bytes.Equal(bytes.TrimSuffix(d.again.Bytes(), []byte("\n")), text) {
		return nil
	}
	return d.checkKeys(json.NewDecoder(bytes.NewReader(text)), reflect.TypeOf(v))
}

// encodeLine appends v as a line of JSON.
func encodeLine(to *bytes.Buffer, v any) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// checkKeys returns an error unless each key of the next value, which was decoded into one of type t, is there once and as its
// field has it; nil is any type.
func (d *strictDecoder) checkKeys(in *json.Decoder, t reflect.Type) error {
	token, err := in.Token()
	if err != nil {
		return err
	}
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch token {
	case json.Delim('['):
		for in.More() {
			if err := d.checkKeys(in, elementOf(t)); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		seen := make(map[string]bool)
		for in.More() {
			token, err := in.Token()
			if err != nil {
				return err
			}
			key, _ := token.(string)
			if seen[key] {
				return fmt.Errorf("the key %q is there twice", key)
			}
			seen[key] = true
			value, ok := d.valueOf(t, key)
			if !ok {
				return fmt.Errorf("the key %q is unknown", key)
			}
			if err := d.checkKeys(in, value); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = in.Token()
	return err
}

// elementOf returns the type of what an array or an object that was decoded into a t has, nil if that is any.
func elementOf(t reflect.Type) reflect.Type {
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map) {
		return t.Elem()
	}
	return nil
}

// valueOf returns the type of what a key has in an object that was decoded into a t, and false if t has no such key.
func (d *strictDecoder) valueOf(t reflect.Type, key string) (value reflect.Type, ok bool) {
	if t == nil || t.Kind() != reflect.Struct {
		return elementOf(t), true
	}
	fields, known := d.fields[t]
	if !known {
		fields = make(map[string]reflect.Type)
		for _, f := range reflect.VisibleFields(t) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "-" {
				fields[name] = f.Type
			}
		}
		if d.fields == nil {
			d.fields = make(map[reflect.Type]map[string]reflect.Type)
		}
		d.fields[t] = fields
	}
	value, ok = fields[key]
	return value, ok
}

// Package jsonvalue decodes, compares and shows JSON values, for the whole program.
//
// A decoded value is a map[string]any, []any, string, json.Number, bool or nil. Numbers keep their text, so no digit is
// lost, and are compared by their exact value: see [Equal].
package jsonvalue

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"unicode/utf8"
)

// Decode decodes one JSON value into what v points to, as encoding/json does, and lets nothing follow it. In values of
// type any, numbers become [json.Number]. It is for what agents and other programs wrote: unknown keys are ignored, and
// the last of duplicate keys counts, as it does for most readers. The error is an [*Error].
func Decode(data []byte, v any) error { return decode(data, v, 0) }

// Option relaxes [DecodeStrict].
type Option uint

const (
	// UnknownKeys ignores keys that no field has.
	UnknownKeys Option = 1 << iota
	// Floats decodes numbers into values of type any as float64, as encoding/json does, for types of the program's
	// users.
	Floats
)

// DecodeStrict is [Decode] for what is written for this program, or by it. The text has to be UTF-8, every object,
// however deep, has each key once, and a key is that of a field, in the same case. Types that decode themselves
// ([json.Unmarshaler]) have the keys that they like. The error is an [*Error].
func DecodeStrict(data []byte, v any, options Option) error {
	if !utf8.Valid(data) {
		return errorAt(data, len(data)-len(fromInvalid(data)), errors.New("it is not UTF-8"))
	}
	if err := decode(data, v, options); err != nil {
		return err
	}
	c := keyChecker{text: data, unknown: options&UnknownKeys != 0}
	if err := c.value(reflect.TypeOf(v)); err != nil {
		return errorAt(data, c.at, err)
	}
	return nil
}

// Error is what is wrong with a JSON text, and where. Its text does not have the place.
type Error struct {
	Line, Column int // from 1, the column in runes; 0: not known
	Err          error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// In returns an error of a decoding with its place in the file that the text is of: "file:line: reason".
func In(file string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Line > 0 {
		return fmt.Errorf("%s:%d: %w", file, e.Line, err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

var (
	// ErrTrailing is the Err of an [Error] if something follows the value.
	ErrTrailing = errors.New("text after the JSON value")
	// ErrDuplicateKey is wrapped by that of an object which has a key twice.
	ErrDuplicateKey = errors.New("duplicate key")
)

func errorAt(data []byte, at int, err error) *Error {
	before := data[:min(max(at, 0), len(data))]
	line := before[bytes.LastIndexByte(before, '\n')+1:]
	return &Error{Line: bytes.Count(before, []byte("\n")) + 1, Column: utf8.RuneCount(line) + 1, Err: err}
}

func decode(data []byte, v any, options Option) error {
	d := json.NewDecoder(bytes.NewReader(data))
	if options&Floats == 0 {
		d.UseNumber()
	}
	err := d.Decode(v)
	if err == nil {
		if rest := bytes.TrimLeft(data[d.InputOffset():], space); len(rest) > 0 {
			return errorAt(data, len(data)-len(rest), ErrTrailing)
		}
		return nil
	}
	switch e := err.(type) { // others are those of types that decode themselves
	case *json.SyntaxError: // its offset, like the next, is that of the byte after the offending one
		return errorAt(data, int(e.Offset)-1, err)
	case *json.UnmarshalTypeError:
		return errorAt(data, int(e.Offset)-1, err)
	}
	switch err {
	case io.EOF:
		return errorAt(data, 0, errors.New("it is empty"))
	case io.ErrUnexpectedEOF:
		return errorAt(data, len(bytes.TrimRight(data, space)), fmt.Errorf("it is cut: %w", err))
	}
	return &Error{Err: err}
}

// fromInvalid returns the rest of a text from the first byte that is not UTF-8.
func fromInvalid(data []byte) []byte {
	for len(data) > 0 {
		r, n := utf8.DecodeRune(data)
		if r == utf8.RuneError && n == 1 {
			break
		}
		data = data[n:]
	}
	return data
}

const space = " \t\r\n" // JSON's

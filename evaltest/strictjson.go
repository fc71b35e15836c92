package evaltest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// decodeStrict decodes one JSON value, whose structs have no fields that v's do not have.
func decodeStrict(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// jsonError is what is wrong with a JSON text.
type jsonError struct {
	line int // from 1
	err  error
}

func (e *jsonError) Error() string { return e.err.Error() }

// checkJSON returns what keeps a text from being one JSON value whose objects have each key once. encoding/json would take
// the last.
func checkJSON(data []byte) *jsonError {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	err := eachKeyOnce(d, 0)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more after the value")
		}
	}
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return &jsonError{1 + bytes.Count(data[:d.InputOffset()], []byte("\n")), err}
}

// maxDepth is how deep values may lie within each other, as in encoding/json.
const maxDepth = 10_000

func eachKeyOnce(d *json.Decoder, depth int) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	if depth++; depth > maxDepth {
		return errors.New("values lie too deep within each other")
	}
	switch token {
	case json.Delim('['):
		for d.More() {
			if err := eachKeyOnce(d, depth); err != nil {
				return err
			}
		}
	case json.Delim('{'):
		seen := make(map[string]bool)
		for d.More() {
			token, err := d.Token()
			if err != nil {
				return err
			}
			key, _ := token.(string)
			if seen[key] {
				return fmt.Errorf("duplicate key %q", key)
			}
			seen[key] = true
			if err := eachKeyOnce(d, depth); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	_, err = d.Token()
	return err
}

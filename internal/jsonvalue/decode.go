package jsonvalue

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// Decode decodes one JSON value into the value that v points to, as encoding/json does. No text may follow it. In
// values of type any, numbers become [json.Number]. Decode is for JSON of agents and other programs: it ignores unknown
// keys, and uses the last of duplicate keys, as most readers do. The error is an [*Error].
func Decode(data []byte, v any) error { return decode(data, v, 0) }

// Option changes what [DecodeStrict] accepts.
type Option uint

const (
	// UnknownKeys ignores unknown keys.
	UnknownKeys Option = 1 << iota
	// Floats decodes numbers in values of type any as float64, as encoding/json does. It is for types of users.
	Floats
	// AllKeys is for JSON that only this program writes: each key that encoding/json always writes must be present, and
	// null only where it writes null.
	AllKeys
	// NoNull refuses null for everything but pointers and values of type any, which can tell it from a value: elsewhere
	// encoding/json leaves the Go value as it is.
	NoNull
)

// DecodeStrict is [Decode] for JSON that is written for this program or by it. The text must be UTF-8, no object may
// have a duplicate key, and each key must be that of a field, in the same case. Types that decode themselves
// ([json.Unmarshaler]) may have any keys. The error is an [*Error].
func DecodeStrict(data []byte, v any, options Option) error {
	if !utf8.Valid(data) {
		return errorAt(data, len(data)-len(fromInvalid(data)), errors.New("the text is not UTF-8"))
	}
	if err := decode(data, v, options); err != nil {
		return err
	}
	return checkKeys(data, v, options)
}

// CheckKeys does to a text that encoding/json has decoded into v what [DecodeStrict] does besides. It is for callers
// that decode many texts with one decoder.
func CheckKeys(data []byte, v any, options Option) error {
	if !utf8.Valid(data) {
		return errorAt(data, len(data)-len(fromInvalid(data)), errors.New("the text is not UTF-8"))
	}
	return checkKeys(data, v, options)
}

func checkKeys(data []byte, v any, options Option) error {
	c := keyChecker{
		text: data, unknown: options&UnknownKeys != 0, all: options&AllKeys != 0, noNull: options&NoNull != 0,
	}
	if err := c.value(reflect.TypeOf(v)); err != nil {
		return errorAt(data, c.at, err)
	}
	return nil
}

// Error is an error in a JSON text, with its position, which the error's text does not include.
type Error struct {
	Line, Column int // from 1, the column in runes; 0: unknown
	Err          error
}

func (e *Error) Error() string { return e.Err.Error() }

func (e *Error) Unwrap() error { return e.Err }

// In returns a decoding error with its position in the file of the text: "file:line: reason".
func In(file string, err error) error {
	if e, ok := errors.AsType[*Error](err); ok && e.Line > 0 {
		return fmt.Errorf("%s:%d: %w", file, e.Line, err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

var (
	// ErrTrailing is the Err of an [Error] if text follows the value.
	ErrTrailing = errors.New("text after the JSON value")
	// ErrDuplicateKey is wrapped by the Err of an [Error] if an object has a duplicate key.
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
	switch e := err.(type) { // errors of other types come from types that decode themselves
	case *json.SyntaxError: // both offsets are those of the byte after the error
		return errorAt(data, int(e.Offset)-1, err)
	case *json.UnmarshalTypeError:
		return errorAt(data, int(e.Offset)-1, err)
	}
	switch err {
	case io.EOF:
		return errorAt(data, 0, errors.New("the text is empty"))
	case io.ErrUnexpectedEOF:
		return errorAt(data, len(bytes.TrimRight(data, space)), fmt.Errorf("the text is incomplete: %w", err))
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

const space = " \t\r\n" // the white space of JSON

// Object is an object whose members are decoded one at a time, by their exact keys. No member may be null.
type Object map[string]json.RawMessage

// Only returns an error if the object has another key than these.
func (o Object) Only(keys ...string) error {
	for _, key := range slices.Sorted(maps.Keys(o)) {
		if !slices.Contains(keys, key) {
			return fmt.Errorf("unknown key %q: the keys are %s", key, strings.Join(keys, ", "))
		}
	}
	return nil
}

// Decode stores the value of a key, which must be present, in the value that v points to. Want describes that value in
// errors: "a string".
func (o Object) Decode(key, want string, v any) error {
	text, ok := o[key]
	if !ok {
		return fmt.Errorf("%s is missing", key)
	}
	if err := json.Unmarshal(text, v); err != nil || string(text) == "null" { // Unmarshal ignores null
		return fmt.Errorf("%s must be %s, not %.80q", key, want, text)
	}
	return nil
}

// Number stores a number from 0 to most.
func (o Object) Number(key string, most float64, v *float64) error {
	err := o.Decode(key, "a number", v)
	_, isNumber := ParseNumber(json.Number(o[key])) // even if float64 cannot represent it
	if isNumber && (err != nil || !(*v >= 0 && *v <= most)) {
		return fmt.Errorf("%s %.40s is out of range: want 0 to %v", key, o[key], most)
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

// keyChecker checks the keys in a JSON text that encoding/json has decoded, so that it is valid and not nested too
// deeply.
type keyChecker struct {
	text    []byte
	at      int
	unknown bool // unknown keys are ignored
	all     bool // no key may be missing
	noNull  bool // null is only for pointers and any
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value checks a value that was decoded into type t; nil means any type. After an error, c.at is its position.
func (c *keyChecker) value(t reflect.Type) error {
	switch c.next() {
	case '{':
		return c.object(container(t))
	case '[':
		return c.array(elementOf(container(t)))
	case '"':
		c.quoted()
	default:
		at := c.at
		for c.at < len(c.text) && strings.IndexByte(space+",]}", c.text[c.at]) < 0 {
			c.at++
		}
		if c.text[at] == 'n' && (c.all && !nullable(t) || c.noNull && !isPointer(t)) {
			c.at = at
			return errors.New("null stands where a value must be")
		}
	}
	return nil
}

// isPointer reports whether nil of the type says that there is no value; nil means any type.
func isPointer(t reflect.Type) bool {
	return t == nil || t.Kind() == reflect.Pointer || t.Kind() == reflect.Interface
}

// nullable reports whether encoding/json writes null for some value of the type; nil means any type.
func nullable(t reflect.Type) bool {
	if t == nil {
		return true
	}
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Map, reflect.Interface:
		return true
	}
	return false
}

// container returns the type into which an object or an array is decoded, nil if the type decodes itself.
func container(t reflect.Type) reflect.Type {
	for t != nil && !t.Implements(unmarshaler) && !reflect.PointerTo(t).Implements(unmarshaler) {
		if t.Kind() != reflect.Pointer {
			return t
		}
		t = t.Elem()
	}
	return nil
}

func (c *keyChecker) array(element reflect.Type) error {
	for c.at++; c.next() != ']'; {
		if err := c.value(element); err != nil {
			return err
		}
	}
	c.at++
	return nil
}

func (c *keyChecker) object(t reflect.Type) error {
	begin, seen := c.at, make(map[string]bool)
	for c.at++; c.next() != '}'; {
		at := c.at
		key := c.key()
		if seen[key] {
			c.at = at
			return fmt.Errorf("%w %q", ErrDuplicateKey, key)
		}
		seen[key] = true
		of := elementOf(t)
		if t != nil && t.Kind() == reflect.Struct {
			var err error
			if of, err = c.field(t, key); err != nil {
				c.at = at
				return err
			}
		}
		if err := c.value(of); err != nil {
			return err
		}
	}
	if c.all && t != nil && t.Kind() == reflect.Struct {
		for _, key := range layoutOf(t).always {
			if !seen[key] {
				c.at = begin
				return fmt.Errorf("the key %q is missing", key)
			}
		}
	}
	c.at++
	return nil
}

// next returns the first byte of the next token.
func (c *keyChecker) next() byte {
	for {
		switch b := c.text[c.at]; b {
		case ' ', '\t', '\r', '\n', ',', ':':
			c.at++
		default:
			return b
		}
	}
}

// quoted reads a string.
func (c *keyChecker) quoted() []byte {
	start := c.at
	for c.at++; c.text[c.at] != '"'; c.at++ {
		if c.text[c.at] == '\\' {
			c.at++
		}
	}
	c.at++
	return c.text[start:c.at]
}

func (c *keyChecker) key() string {
	quoted := c.quoted()
	if bytes.IndexByte(quoted, '\\') < 0 {
		return string(quoted[1 : len(quoted)-1])
	}
	var key string
	if err := json.Unmarshal(quoted, &key); err != nil {
		panic(fmt.Sprintf("jsonvalue: cannot decode a key that encoding/json has decoded: %v", err))
	}
	return key
}

// field returns the type of the field of t with this key, nil if there is none.
func (c *keyChecker) field(t reflect.Type, key string) (reflect.Type, error) {
	fields := Fields(t)
	if of, ok := fields[key]; ok {
		return of, nil
	}
	for name := range fields {
		if strings.EqualFold(name, key) { // encoding/json has accepted it for the field
			return nil, fmt.Errorf("unknown key %q: write %q", key, name)
		}
	}
	if !c.unknown {
		return nil, fmt.Errorf("unknown key %q", key)
	}
	return nil, nil
}

// elementOf returns the type of the elements of a slice, an array or a map, else nil.
func elementOf(t reflect.Type) reflect.Type {
	if t != nil && (t.Kind() == reflect.Slice || t.Kind() == reflect.Array || t.Kind() == reflect.Map) {
		return t.Elem()
	}
	return nil
}

// field is the struct field into which the value of a key is decoded.
type field struct {
	of        reflect.Type
	depth     int // how many embedded structs it is in
	tagged    bool
	ambiguous bool // two fields have the key, so it is decoded into neither
	optional  bool // encoding/json leaves the key out for some value
}

// layout is what a struct's JSON looks like.
type layout struct {
	types  map[string]reflect.Type // by key
	always []string                // the keys that are always written, sorted
}

var structs sync.Map // *layout by reflect.Type

// Fields returns the types of a struct's fields by key, by the rules of encoding/json. The map must not be changed.
func Fields(t reflect.Type) map[string]reflect.Type { return layoutOf(t).types }

func layoutOf(t reflect.Type) *layout {
	if known, ok := structs.Load(t); ok {
		return known.(*layout)
	}
	fields := make(map[string]field)
	addFields(fields, t, nil)
	l := &layout{types: make(map[string]reflect.Type)}
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		f := fields[key]
		if f.ambiguous {
			continue
		}
		l.types[key] = f.of
		if !f.optional {
			l.always = append(l.always, key)
		}
	}
	structs.Store(t, l)
	return l
}

// addFields adds the fields of t, which is embedded in the structs around it.
func addFields(fields map[string]field, t reflect.Type, around []reflect.Type) {
	if slices.Contains(around, t) {
		return
	}
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, options, _ := strings.Cut(tag, ",")
		embedded := f.Type
		if embedded.Kind() == reflect.Pointer {
			embedded = embedded.Elem()
		}
		isStruct := f.Anonymous && embedded.Kind() == reflect.Struct
		switch {
		case tag == "-", !f.IsExported() && !isStruct:
			continue
		case name == "" && isStruct:
			addFields(fields, embedded, append(around, t))
			continue
		}
		found := field{
			of: f.Type, depth: len(around), tagged: name != "",
			optional: strings.Contains(options, "omitempty") || strings.Contains(options, "omitzero"),
		}
		name = cmp.Or(name, f.Name)
		switch old, ok := fields[name]; {
		case !ok, found.depth < old.depth, found.depth == old.depth && found.tagged && !old.tagged:
			fields[name] = found
		case found.depth == old.depth && found.tagged == old.tagged:
			old.ambiguous = true
			fields[name] = old
		}
	}
}

// ReadLine returns the next line of a file of JSON lines, with its newline, and with [io.EOF] if no newline ends it. A
// line of more than limit bytes is an error, which comes with its beginning.
func ReadLine(in *bufio.Reader, limit int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > limit {
			return append(line, part...)[:limit], fmt.Errorf("the line has more than %d bytes", limit)
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

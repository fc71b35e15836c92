package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// Decoding is driven by the struct tags of the schema's types: `json:"name"` names the field as in encoding/json, with
// the option omitzero; `acp:"required"` marks a field without which the object means nothing. One bad part never makes
// a whole message fail to decode:
//   - a field that cannot take its value keeps its zero value, and the raw value goes to Extra.Unknown;
//   - an array item that cannot be decoded is skipped, and the raw array goes to Unknown;
//   - a variant that cannot be decoded becomes an Other;
//   - an object without a required field is itself a value that cannot be decoded.

// decodeFunc decodes the scanner's next value into v. It returns false if v could not take all of it; v then holds what
// it could take, and the scanner may stand anywhere.
type decodeFunc func(s *scanner, v reflect.Value) bool

// selfDecoder is implemented, on the pointer, by types that decode themselves.
type selfDecoder interface {
	decode(s *scanner) bool
}

// structPlan is how a struct of the schema is decoded and encoded.
type structPlan struct {
	fields   []fieldPlan
	byName   map[string]int // index into fields
	required uint64         // bit set of fields
	extra    int            // index of the embedded Extra
	tag      variantTag
}

type fieldPlan struct {
	name     string
	index    int // in the struct
	decode   decodeFunc
	omitZero bool // leave out the zero value when encoding
}

var (
	plans       sync.Map // reflect.Type to *structPlan
	typeDecoder = reflect.TypeFor[selfDecoder]()
	typeRaw     = reflect.TypeFor[json.RawMessage]()
	typeExtra   = reflect.TypeFor[Extra]()
)

// planOf returns the plan of a struct type that embeds Extra.
func planOf(t reflect.Type) *structPlan {
	if p, ok := plans.Load(t); ok {
		return p.(*structPlan)
	}
	p := &structPlan{byName: make(map[string]int), extra: -1, tag: variantTags[t]}
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Type == typeExtra {
			p.extra = i
			continue
		}
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Tag.Get("acp") == "required" {
			p.required |= 1 << len(p.fields)
		}
		p.byName[name] = len(p.fields)
		p.fields = append(p.fields, fieldPlan{
			name: name, index: i, decode: decoderOf(f.Type), omitZero: options == "omitzero",
		})
	}
	if p.extra < 0 {
		panic(fmt.Sprintf("acp: %v does not embed Extra", t))
	}
	actual, _ := plans.LoadOrStore(t, p)
	return actual.(*structPlan)
}

// decoderOf returns the decoder of a field's or item's type.
func decoderOf(t reflect.Type) decodeFunc {
	if reflect.PointerTo(t).Implements(typeDecoder) {
		return func(s *scanner, v reflect.Value) bool { return v.Addr().Interface().(selfDecoder).decode(s) }
	}
	if t == typeRaw {
		return decodeRaw
	}
	switch t.Kind() {
	case reflect.String:
		return decodeString
	case reflect.Bool:
		return decodeBool
	case reflect.Int, reflect.Int64:
		return decodeInt
	case reflect.Float64:
		return decodeFloat
	case reflect.Struct:
		plan := sync.OnceValue(func() *structPlan { return planOf(t) }) // late, because types may be recursive
		return func(s *scanner, v reflect.Value) bool { return s.peek() == '{' && plan().decode(s, v, "") == 0 }
	case reflect.Pointer:
		return pointerDecoder(t.Elem())
	case reflect.Slice:
		return sliceDecoder(t.Elem())
	case reflect.Map:
		return decodeStringMap
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return decodeScalar
		}
		return unionDecoder(t)
	}
	panic(fmt.Sprintf("acp: no decoder for %v", t))
}

// decode decodes the object at which the scanner stands and returns the required fields that it did not get. The member
// named tag, if any, is the discriminator, which the caller has already read.
func (p *structPlan) decode(s *scanner, v reflect.Value, tag string) (missing uint64) {
	extra := v.Field(p.extra).Addr().Interface().(*Extra)
	missing = p.required
	for s.more('}') {
		key := s.key()
		s.peek()
		start := s.pos
		if i, ok := p.byName[string(key)]; ok {
			f := &p.fields[i]
			if f.decode(s, v.Field(f.index)) {
				missing &^= 1 << i
				continue
			}
			s.pos = start
		} else if string(key) == "_meta" {
			extra.Meta = s.value()
			continue
		} else if string(key) == tag {
			s.value()
			continue
		}
		extra.keep(string(key), s.value())
	}
	return missing
}

func (e *Extra) keep(name string, raw []byte) {
	if e.Unknown == nil {
		e.Unknown = make(map[string]json.RawMessage)
	}
	e.Unknown[name] = raw
}

func decodeRaw(s *scanner, v reflect.Value) bool {
	v.SetBytes(s.value())
	return true
}

func decodeString(s *scanner, v reflect.Value) bool {
	if s.peek() != '"' {
		return false
	}
	v.SetString(unquote(s.str()))
	return true
}

func decodeBool(s *scanner, v reflect.Value) bool {
	switch string(s.value()) {
	case "true":
		v.SetBool(true)
	case "false":
		v.SetBool(false)
	default:
		return false
	}
	return true
}

func decodeInt(s *scanner, v reflect.Value) bool {
	n, err := strconv.ParseInt(string(s.value()), 10, v.Type().Bits())
	if err != nil {
		return false
	}
	v.SetInt(n)
	return true
}

func decodeFloat(s *scanner, v reflect.Value) bool {
	if c := s.peek(); c != '-' && (c < '0' || c > '9') {
		return false
	}
	f, err := strconv.ParseFloat(string(s.value()), 64)
	if err != nil {
		return false
	}
	v.SetFloat(f)
	return true
}

// decodeScalar decodes a string or a bool into an any.
func decodeScalar(s *scanner, v reflect.Value) bool {
	switch s.peek() {
	case '"':
		v.Set(reflect.ValueOf(unquote(s.str())))
	case 't', 'f':
		v.Set(reflect.ValueOf(s.data[s.pos] == 't'))
		s.value()
	default:
		return false
	}
	return true
}

func decodeStringMap(s *scanner, v reflect.Value) bool {
	if s.peek() != '{' {
		return false
	}
	m := make(map[string]string)
	for s.more('}') {
		key := string(s.key())
		if s.peek() != '"' {
			return false
		}
		m[key] = unquote(s.str())
	}
	v.Set(reflect.ValueOf(m))
	return true
}

func pointerDecoder(elem reflect.Type) decodeFunc {
	decode := decoderOf(elem)
	return func(s *scanner, v reflect.Value) bool {
		if s.peek() == 'n' {
			return false
		}
		p := reflect.New(elem)
		if !decode(s, p.Elem()) {
			return false
		}
		v.Set(p)
		return true
	}
}

func sliceDecoder(elem reflect.Type) decodeFunc {
	decode := decoderOf(elem)
	return func(s *scanner, v reflect.Value) bool {
		if s.peek() != '[' {
			return false
		}
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		whole := true
		for s.more(']') {
			start, n := s.pos, v.Len()
			v.Grow(1)
			v.SetLen(n + 1)
			if decode(s, v.Index(n)) {
				continue
			}
			whole = false
			v.Index(n).SetZero()
			v.SetLen(n)
			s.pos = start
			s.value()
		}
		return whole
	}
}

func unionDecoder(t reflect.Type) decodeFunc {
	u, ok := unions[t]
	if !ok {
		panic(fmt.Sprintf("acp: %v has no variants", t))
	}
	return func(s *scanner, v reflect.Value) bool {
		if s.peek() != '{' {
			return false
		}
		kind := ""
		if text := s.member(u.key); len(text) > 0 && text[0] == '"' {
			kind = unquote(text)
		} else if text != nil || u.variants[""] == nil {
			return false
		}
		start := s.pos
		if variant := u.variants[kind]; variant != nil {
			value := reflect.New(variant).Elem()
			if planOf(variant).decode(s, value, u.key) == 0 {
				v.Set(value)
				return true
			}
			s.pos = start
		}
		v.Set(reflect.ValueOf(Other{Kind: kind, Raw: s.value()}))
		return true
	}
}

func (p *Patch[T]) decode(s *scanner) bool {
	if s.peek() == 'n' {
		s.value()
		*p = Patch[T]{Set: true, Null: true}
		return true
	}
	v := reflect.ValueOf(&p.Value).Elem()
	whole := decoderOf(v.Type())(s, v)
	p.Set = whole || !v.IsZero()
	return whole
}

func (id *ID) decode(s *scanner) bool {
	switch s.peek() {
	case '{', '[', 't', 'f':
		return false
	}
	*id = ID(s.value())
	return true
}

// unmarshal decodes data into v, a pointer to a struct of the schema, which then shares no memory with data.
func unmarshal(data []byte, v any) error {
	if !json.Valid(data) {
		return fmt.Errorf("acp: decode %T: %w", v, ErrNotJSON)
	}
	if string(bytes.TrimSpace(data)) == "null" { // by the convention of json.Unmarshaler
		return nil
	}
	return unmarshalValid(bytes.Clone(data), v)
}

// unmarshalValid decodes data, which is known to be valid JSON, into v, a pointer to a struct of the schema, which then
// shares memory with data.
func unmarshalValid(data []byte, v any) error {
	value := reflect.ValueOf(v).Elem()
	value.SetZero()
	s := scanner{data: data}
	if len(data) == 0 || s.peek() != '{' {
		return fmt.Errorf("acp: decode %s: want an object, got %q", value.Type().Name(), excerpt.Head(string(data), 64))
	}
	p := planOf(value.Type())
	missing := p.decode(&s, value, p.tag.key)
	for i, f := range p.fields {
		if missing&(1<<i) != 0 {
			return fmt.Errorf("acp: decode %s: field %q is missing or of the wrong type", value.Type().Name(), f.name)
		}
	}
	return nil
}

package doc

import (
	"cmp"
	"encoding"
	"fmt"
	"reflect"
	"strconv"
)

// Schema is a JSON schema, with the parts of draft 7 that are needed to describe what [Node.Decode] accepts. The zero
// Schema accepts everything.
type Schema struct {
	Dialect     string `json:"$schema,omitempty"`
	Ref         string `json:"$ref,omitempty"`
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`

	Type    string   `json:"type,omitempty"`
	Default any      `json:"default,omitempty"`
	Const   any      `json:"const,omitempty"`
	Enum    []string `json:"enum,omitempty"`
	Pattern string   `json:"pattern,omitempty"` // in the syntax of ECMAScript

	Minimum          *float64 `json:"minimum,omitempty"`
	ExclusiveMinimum *float64 `json:"exclusiveMinimum,omitempty"`
	Maximum          *float64 `json:"maximum,omitempty"`

	Items       *Schema  `json:"items,omitempty"`
	MinItems    *float64 `json:"minItems,omitempty"`
	MaxItems    *float64 `json:"maxItems,omitempty"`
	UniqueItems bool     `json:"uniqueItems,omitempty"`

	Properties    map[string]*Schema `json:"properties,omitempty"`
	Required      []string           `json:"required,omitempty"`
	PropertyNames *Schema            `json:"propertyNames,omitempty"`
	// AdditionalProperties is nil, false or a *Schema.
	AdditionalProperties any      `json:"additionalProperties,omitempty"`
	MinProperties        *float64 `json:"minProperties,omitempty"`
	MaxProperties        *float64 `json:"maxProperties,omitempty"`

	AllOf []*Schema `json:"allOf,omitempty"`
	AnyOf []*Schema `json:"anyOf,omitempty"`
	OneOf []*Schema `json:"oneOf,omitempty"`
	Not   *Schema   `json:"not,omitempty"`
	If    *Schema   `json:"if,omitempty"`
	Then  *Schema   `json:"then,omitempty"`

	Definitions map[string]*Schema `json:"definitions,omitempty"`
}

// Draft7 is the dialect of schemas.
const Draft7 = "http://json-schema.org/draft-07/schema#"

const (
	// notBlank matches text that is not only white space.
	notBlank = `\S`
	// duration matches the texts that [time.ParseDuration] accepts.
	duration = `^[-+]?` + oneUnit + `(` + oneUnit + `)*$`
	oneUnit  = `([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h)`
)

var (
	textType     = reflect.TypeFor[encoding.TextUnmarshaler]()
	anythingType = reflect.TypeFor[any]()
)

// Schemas makes schemas of types. The zero value is ready to use.
type Schemas struct {
	// Descriptions are those that are too long for a tag, by type and field, such as "Cassette.Level".
	Descriptions map[string]string

	refinements map[reflect.Type]func(*Schema)
}

// Refine sets a function that completes each schema of type T, for example with the checks of a function passed to
// [Handle].
func Refine[T any](s *Schemas, complete func(*Schema)) {
	if s.refinements == nil {
		s.refinements = make(map[reflect.Type]func(*Schema))
	}
	s.refinements[reflect.TypeFor[T]()] = complete
}

// Of returns the schema of the values that [Node.Decode] accepts for a type. It panics if the type cannot be decoded
// into.
func (s *Schemas) Of(t reflect.Type) *Schema { return s.schema(t, rules{}) }

func (s *Schemas) schema(t reflect.Type, r rules) *Schema {
	v := new(Schema)
	s.fill(v, t, r)
	if complete, ok := s.refinements[t]; ok {
		complete(v)
	}
	return v
}

// fill describes values of a type. It checks types in the same order as decodeUnhandled.
func (s *Schemas) fill(v *Schema, t reflect.Type, r rules) {
	switch {
	case reflect.PointerTo(t).Implements(textType):
		v.Type = "string"
		return
	case t == durationType:
		v.Type, v.Pattern = "string", duration
		return
	case t == nodeType || t == anythingType:
		return
	}
	switch t.Kind() {
	case reflect.Pointer:
		*v = *s.schema(t.Elem(), r)
	case reflect.Bool:
		v.Type = "boolean"
	case reflect.String:
		v.Type = "string"
		v.text(r)
	case reflect.Int, reflect.Int64:
		v.Type = "integer"
		v.Minimum, v.ExclusiveMinimum, v.Maximum = r.min, r.above, r.max
	case reflect.Float64:
		v.Type = "number"
		v.Minimum, v.ExclusiveMinimum, v.Maximum = r.min, r.above, r.max
	case reflect.Slice:
		s.list(v, t, r)
	case reflect.Map:
		v.Type, v.AdditionalProperties = "object", s.schema(t.Elem(), rules{})
		v.keys(r, r)
	case reflect.Struct:
		s.mapping(v, t)
	default:
		panic(fmt.Sprintf("doc: no schema for %s", t))
	}
	v.setDefault(r)
}

// text describes a string.
func (v *Schema) text(r rules) {
	switch {
	case r.enum != nil:
		v.Enum = r.enum
	case r.known != nil:
		v.Enum = r.known
	case r.pattern != nil:
		v.Pattern = r.pattern.String()
	case r.required || r.min != nil:
		v.Pattern = notBlank
	}
}

// list describes a slice: a list, or a mapping if its elements have a field for the key.
func (s *Schemas) list(v *Schema, t reflect.Type, r rules) {
	if isKeyed(t) {
		v.Type, v.AdditionalProperties = "object", s.schema(t.Elem(), rules{})
		v.keys(shapeOf(t.Elem()).keyRules, r)
		return
	}
	v.Type, v.Items = "array", s.schema(t.Elem(), rules{enum: r.enum, pattern: r.pattern})
	v.MinItems, v.MaxItems = r.atLeast(), r.max
}

// keys describes the keys of a mapping whose values all have one type.
func (v *Schema) keys(key, mapping rules) {
	if key.pattern != nil {
		v.PropertyNames = &Schema{Pattern: key.pattern.String()}
	}
	v.MinProperties, v.MaxProperties = mapping.atLeast(), mapping.max
}

// atLeast returns the lowest number of elements, nil if there is no bound.
func (r rules) atLeast() *float64 {
	if one := 1.0; r.required && r.min == nil {
		return &one
	}
	return r.min
}

// mapping describes a struct.
func (s *Schemas) mapping(v *Schema, t reflect.Type) {
	shape := shapeOf(t)
	v.Type, v.Properties = "object", make(map[string]*Schema)
	if shape.rest < 0 {
		v.AdditionalProperties = false
	}
	for _, f := range shape.fields {
		if f.rules.refused {
			continue
		}
		field := t.FieldByIndex(f.index)
		property := s.schema(field.Type, f.rules)
		if property.Ref == "" { // anything beside a reference is ignored
			property.Description = cmp.Or(s.Descriptions[t.Name()+"."+field.Name], field.Tag.Get("doc"))
		}
		v.Properties[f.name] = property
		if f.rules.required {
			v.Required = append(v.Required, f.name)
		}
	}
}

func (v *Schema) setDefault(r rules) {
	if !r.hasPreset {
		return
	}
	switch v.Type {
	case "boolean":
		v.Default = r.preset == "true"
	case "integer", "number":
		// Decoding panics if the default is not a number.
		v.Default, _ = strconv.ParseFloat(r.preset, 64)
	default:
		v.Default = r.preset
	}
}

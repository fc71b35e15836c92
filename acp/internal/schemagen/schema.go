package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// definitions are the "$defs" of the protocol's schema, by name.
type definitions map[string]*schema

// schema is a node of the schema, with the keywords that matter to Go's types.
type schema struct {
	Ref        string          `json:"$ref"`
	Type       typeNames       `json:"type"`
	Const      json.RawMessage `json:"const"`
	Format     string          `json:"format"`
	Properties properties      `json:"properties"`
	Required   []string        `json:"required"`
	AllOf      []*schema       `json:"allOf"`
	AnyOf      []*schema       `json:"anyOf"`
	OneOf      []*schema       `json:"oneOf"`
	Items      *schema         `json:"items"`
	// AdditionalProperties is true, false or the schema of a map's values.
	AdditionalProperties json.RawMessage `json:"additionalProperties"`
	Default              json.RawMessage `json:"default"`
	// Method and Side are the method that a request, a response or a notification belongs to, and who serves it.
	Method string `json:"x-method"`
	Side   string `json:"x-side"`
}

// typeNames is the value of "type": one name or several.
type typeNames []string

func (t *typeNames) UnmarshalJSON(data []byte) error {
	if data[0] == '[' {
		return json.Unmarshal(data, (*[]string)(t))
	}
	*t = make(typeNames, 1)
	return json.Unmarshal(data, &(*t)[0])
}

// properties are the properties of an object in the order of the schema, which is that of the wire.
type properties []property

// property is a property of an object or, of a flattened union, what all variants have under its name.
type property struct {
	name     string
	schemas  []*schema
	required bool
}

func (p *properties) UnmarshalJSON(data []byte) error {
	var byName map[string]*schema
	if err := json.Unmarshal(data, &byName); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		*p = append(*p, property{name: name.(string), schemas: []*schema{byName[name.(string)]}})
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return err
		}
	}
	return nil
}

// readDefinitions reads the schema in dir. A definition of unstable.json replaces that of schema.json.
func readDefinitions(dir string) (definitions, error) {
	all := make(definitions)
	for _, name := range []string{"schema.json", "unstable.json"} {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		var document struct {
			Defs definitions `json:"$defs"`
		}
		if err := json.Unmarshal(data, &document); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		maps.Copy(all, document.Defs)
	}
	return all, nil
}

// resolve follows references and leaves out null. The name is that of the last definition, "" if s is not a reference.
func (defs definitions) resolve(s *schema) (name string, target *schema) {
	for {
		variants := slices.DeleteFunc(slices.Clone(s.variants()), func(v *schema) bool {
			return slices.Equal(v.Type, typeNames{"null"})
		})
		switch {
		case s.Ref != "":
			name = strings.TrimPrefix(s.Ref, "#/$defs/")
			target = defs[name]
			if target == nil {
				fail("the schema has no definition %q", name)
			}
			s = target
		case len(s.AllOf) == 1 && len(s.Properties) == 0:
			s = s.AllOf[0]
		case len(variants) == 1 && len(s.Properties) == 0:
			s = variants[0]
		default:
			return name, s
		}
	}
}

// variants returns the alternatives of a union.
func (s *schema) variants() []*schema { return slices.Concat(s.OneOf, s.AnyOf) }

// is reports whether s has that type, or that type or null.
func (s *schema) is(name string) bool {
	return slices.Contains(s.Type, name) && len(slices.DeleteFunc(slices.Clone(s.Type), func(t string) bool {
		return t == name || t == "null"
	})) == 0
}

// enum returns the values of s if it is a string of which the schema names some values.
func (s *schema) enum() []string {
	var values []string
	for _, v := range s.variants() {
		if !v.is("string") {
			return nil
		}
		if v.Const != nil {
			values = append(values, v.text())
		}
	}
	return values
}

// text returns the string that s is.
func (s *schema) text() string {
	text, err := strconv.Unquote(string(s.Const))
	if err != nil {
		fail("constant %s is not a string", s.Const)
	}
	return text
}

// flatten returns the properties of an object: its own, those of what it includes, and those of its variants, which are
// required if every variant requires them. "_meta" is left out, since every Go type has it.
func (defs definitions) flatten(s *schema) properties {
	var all properties
	for _, p := range s.Properties {
		if p.name != "_meta" {
			p.required = slices.Contains(s.Required, p.name)
			all = append(all, p)
		}
	}
	if i := slices.IndexFunc(all, func(p property) bool { return p.schemas[0].Const != nil }); i > 0 {
		all = slices.Insert(slices.Delete(slices.Clone(all), i, i+1), 0, all[i]) // it tells variants apart
	}
	for _, part := range s.AllOf {
		_, part = defs.resolve(part)
		all = append(all, defs.flatten(part)...)
	}
	return append(all, defs.flattenVariants(s.variants())...)
}

func (defs definitions) flattenVariants(variants []*schema) properties {
	var all properties
	requiredBy := make(map[string]int)
	for _, v := range variants {
		_, v = defs.resolve(v)
		for _, p := range defs.flatten(v) {
			if p.required {
				requiredBy[p.name]++
			}
			if i := slices.IndexFunc(all, func(q property) bool { return q.name == p.name }); i >= 0 {
				all[i].schemas = append(all[i].schemas, p.schemas...)
			} else {
				all = append(all, property{name: p.name, schemas: slices.Clone(p.schemas)})
			}
		}
	}
	for i, p := range all {
		all[i].required = requiredBy[p.name] == len(variants)
	}
	return all
}

// isStringMap reports whether s is an object with any names whose values are strings.
func (s *schema) isStringMap() bool {
	var values schema
	return bytes.HasPrefix(s.AdditionalProperties, []byte("{")) &&
		json.Unmarshal(s.AdditionalProperties, &values) == nil && values.is("string")
}

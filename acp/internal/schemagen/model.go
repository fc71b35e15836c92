package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// model is what the schema becomes in Go.
type model struct {
	defs    definitions
	structs map[string]*structType // by their names in Go; nil while one is being made
	enums   map[string]enumType
	unions  map[string]unionType
	methods []methodType
}

type structType struct {
	name   string
	doc    string
	fields []field
	of     string // the type that it is defined as, "" if it has fields of its own
}

type field struct {
	name, goType, json, doc string
	values                  []string // that the schema names, of a string
	required, omitZero      bool
}

type enumType struct {
	name   string
	values []string
}

// unionType is an interface, with the types that implement it.
type unionType struct {
	name     string
	key      string // the property that tells the variants apart
	variants []variant
}

type variant struct{ goType, kind string }

type methodType struct {
	constant, method, side string
	params, result         string // result is "" for a notification
}

// goType is the Go type of a value that is there.
type goType struct {
	name string
	// pointer says that a pointer is needed to tell an absent value from a zero one.
	pointer bool
	values  []string
}

// newModel translates the types of every method in the schema, and those that they refer to.
func newModel(defs definitions) *model {
	m := &model{
		defs:    defs,
		structs: make(map[string]*structType),
		enums:   make(map[string]enumType),
		unions:  make(map[string]unionType),
	}
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		if def := defs[name]; def.Method != "" {
			m.addStruct(name)
			m.addMethod(name, def)
		}
	}
	m.checkNotes()
	return m
}

// checkNotes fails if a note is about something that the model does not have.
func (m *model) checkNotes() {
	fields, commented := make(map[string]bool), make(map[string]bool)
	for name := range m.enums {
		commented[name] = true
	}
	for name := range m.unions {
		commented[name] = true
		commented[name+"."+interfaces[name]] = true
	}
	for name, s := range m.structs {
		commented[name] = true
		for _, f := range s.fields {
			fields[name+"."+f.json] = true
			commented[name+"."+f.name] = true
		}
	}
	check(comments, commented)
	check(differences, fields)
	check(enums, m.enums)
	check(interfaces, m.unions)
	check(goNames, m.defs)
	check(writtenByHand, m.defs)
	check(methodNames, m.structs)
	check(wireOrder, m.structs)
}

func check[T, U any](notes map[string]T, model map[string]U) {
	for name := range notes {
		if _, ok := model[name]; !ok {
			fail("notes.go or comments.txt has %s, which is not in the schema or not used", name)
		}
	}
}

// addMethod adds the method of a request or a notification.
func (m *model) addMethod(name string, def *schema) {
	base, request := strings.CutSuffix(name, "Request")
	base = strings.TrimSuffix(base, "Notification")
	if base == name {
		return // a response
	}
	params := goName(name)
	method := methodType{method: def.Method, side: def.Side, params: params}
	if request {
		method.result = goName(base + "Response")
	}
	method.constant = methodNames[params]
	if method.constant == "" {
		method.constant = "Method" + strings.TrimSuffix(strings.TrimSuffix(params, "Request"), "Notification")
	}
	m.methods = append(m.methods, method)
}

// addStruct adds the struct of a definition and returns its name in Go.
func (m *model) addStruct(name string) string {
	typeName := goName(name)
	if _, ok := m.structs[typeName]; ok {
		return typeName
	}
	m.structs[typeName] = nil
	var parts []*schema // several if definitions share a name in Go
	for _, other := range slices.Sorted(maps.Keys(m.defs)) {
		if goName(other) == typeName {
			parts = append(parts, m.defs[other])
		}
	}
	props := m.defs.flatten(parts[0])
	if len(parts) > 1 {
		props = m.defs.flattenVariants(parts)
	}
	slices.SortStableFunc(props, func(a, b property) int {
		return position(typeName, a.name) - position(typeName, b.name)
	})
	s := &structType{name: typeName, doc: structDoc(typeName, m.defs[name])}
	for _, p := range props {
		s.fields = append(s.fields, m.field(typeName, p))
	}
	m.structs[typeName] = s
	return typeName
}

// structDoc returns the comment of a struct. A response needs none of its own.
func structDoc(typeName string, def *schema) string {
	base, response := strings.CutSuffix(typeName, "Response")
	switch {
	case response && comments[typeName] == "":
		return fmt.Sprintf("%s is the %s's answer to [%sRequest].", typeName, def.Side, base)
	case response || def.Method == "":
		return commentOn(typeName)
	}
	return commentOn(typeName) + " Method: " + def.Method + "."
}

// field translates a property.
func (m *model) field(typeName string, p property) field {
	t := m.typeOf(p.schemas[0])
	for _, s := range p.schemas[1:] {
		other := m.typeOf(s)
		if other.name != t.name {
			t = goType{name: "any"}
		}
		for _, v := range other.values {
			if !slices.Contains(t.values, v) {
				t.values = append(t.values, v)
			}
		}
	}
	f := field{name: goName(p.name), goType: t.name, json: p.name, values: t.values}
	f.doc = comments[typeName+"."+f.name]
	difference := differences[typeName+"."+p.name]
	hasDefault := p.schemas[0].Default != nil
	switch {
	case difference == patch:
		f.goType, f.omitZero = "Patch["+t.name+"]", true
	case difference == optional || !p.required && !hasDefault:
		f.omitZero = true
		if t.pointer || difference == pointer {
			f.goType = "*" + t.name
		}
	default:
		f.required = p.required && difference != lenient
	}
	return f
}

// typeOf returns the Go type of the values that s describes.
func (m *model) typeOf(s *schema) goType {
	name, s := m.defs.resolve(s)
	if written := writtenByHand[name]; written != "" {
		return goType{name: written}
	}
	if _, ok := interfaces[name]; ok {
		return goType{name: m.addUnion(name, s)}
	}
	if values := s.enum(); values != nil {
		return m.enum(name, values)
	}
	switch {
	case s.Const != nil:
		return goType{name: "string", values: []string{s.text()}}
	case s.is("string"):
		return goType{name: "string"}
	case s.is("boolean"):
		return goType{name: "bool"}
	case s.is("integer"):
		return integer(s.Format)
	case s.is("number"):
		return goType{name: "float64", pointer: true}
	case s.is("array"):
		item := m.typeOf(s.Items)
		return goType{name: "[]" + item.name, values: item.values}
	case name != "" && (s.is("object") || len(s.variants()) > 0):
		return m.object(name, s)
	case s.is("object") && s.isStringMap():
		return goType{name: "map[string]string"}
	case s.is("object"), len(s.Type) == 0 && len(s.variants()) == 0:
		return goType{name: "json.RawMessage"}
	}
	fail("no Go type for type %q", s.Type)
	return goType{}
}

func integer(format string) goType {
	switch format {
	case "uint16", "uint32":
		return goType{name: "int", pointer: true}
	case "int64", "uint64":
		return goType{name: "int64", pointer: true}
	}
	fail("no Go type for an integer of format %q", format)
	return goType{}
}

// object returns the type of an object, or of a union of objects or of arrays.
func (m *model) object(name string, s *schema) goType {
	if arrays := s.variants(); len(arrays) > 0 && arrays[0].is("array") {
		t := m.typeOf(arrays[0])
		for _, a := range arrays[1:] {
			if other := m.typeOf(a); other.name != t.name {
				fail("%s is a union of %s and %s", name, t.name, other.name)
			}
		}
		return t
	}
	if len(m.defs.flatten(s)) == 0 {
		m.structs["Supported"] = &structType{name: "Supported", doc: structDoc("Supported", s)}
		return goType{name: "Supported", pointer: true}
	}
	return goType{name: m.addStruct(name), pointer: true}
}

// enum returns the type of a string that has named values: one of its own, or string with the values as a comment.
func (m *model) enum(name string, values []string) goType {
	name = goName(name)
	if _, ok := enums[name]; !ok {
		return goType{name: "string", values: values}
	}
	m.enums[name] = enumType{name: name, values: values}
	return goType{name: name}
}

// addUnion adds an interface and the types that implement it, and returns its name.
func (m *model) addUnion(name string, s *schema) string {
	if _, ok := m.unions[name]; ok {
		return name
	}
	u := unionType{name: name}
	m.unions[name] = u
	uses := make(map[string]int) // of definitions
	for _, v := range s.variants() {
		def, _ := m.defs.resolve(&schema{AllOf: v.AllOf})
		uses[def]++
	}
	for _, v := range s.variants() {
		def, _ := m.defs.resolve(&schema{AllOf: v.AllOf})
		kind, typeName := "", m.addStruct(def)
		if len(v.Properties) > 0 {
			u.key, kind = v.Properties[0].name, v.Properties[0].schemas[0].text()
		}
		if uses[def] > 1 {
			typeName = m.addDefined(goName(kind), typeName)
		}
		u.variants = append(u.variants, variant{goType: typeName, kind: kind})
	}
	m.unions[name] = u
	return name
}

// addDefined adds a struct with the fields of another and returns its name.
func (m *model) addDefined(name, of string) string {
	m.structs[name] = &structType{name: name, doc: structDoc(name, new(schema)), of: of}
	return name
}

// goName returns the name in Go of a definition, a property or a value.
func goName(name string) string {
	if renamed := goNames[name]; renamed != "" {
		return renamed
	}
	var b strings.Builder
	for _, word := range words(name) {
		if initialisms[word] {
			b.WriteString(strings.ToUpper(word))
		} else {
			b.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return b.String()
}

// words splits a name in camel case or with underscores into words in lower case.
func words(name string) []string {
	var spaced strings.Builder
	for _, r := range strings.ReplaceAll(name, "_", " ") {
		if unicode.IsUpper(r) {
			spaced.WriteByte(' ')
		}
		spaced.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(spaced.String())
}

var initialisms = map[string]bool{"fs": true, "http": true, "id": true, "sse": true, "uri": true, "url": true}

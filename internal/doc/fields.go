package doc

import (
	"fmt"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
)

var (
	nodeType     = reflect.TypeFor[*Node]()
	positionType = reflect.TypeFor[Position]()
	durationType = reflect.TypeFor[time.Duration]()
)

// shape is what the tags of a struct say. See [Node.Decode].
type shape struct {
	fields []field
	// Indexes of the fields that hold an entry's key, its position and the undecoded rest of the keys, -1 for none.
	key, position, rest int
	keyRules            rules
}

// field is one key of a mapping that is decoded into a struct.
type field struct {
	name  string
	index int
	rules rules
}

// rules are what a value must keep to.
type rules struct {
	required  bool
	reason    string // replaces the text of the problem when something required is missing or empty
	refused   bool   // the key is there to be refused with the reason
	enum      []string
	known     []string       // what a schema has for enum where decoding leaves it to the caller
	pattern   *regexp.Regexp // of a string, or of the keys of a mapping
	above     *float64       // what a number must exceed
	min, max  *float64       // of a number, or of the length of a list or mapping
	preset    string         // the default, as text
	hasPreset bool
}

var shapes sync.Map // reflect.Type to *shape

// shapeOf returns the shape of struct type t. It panics on tags it does not understand.
func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	s := &shape{key: -1, position: -1, rest: -1}
	for i := range t.NumField() {
		f := t.Field(i)
		tag, ok := f.Tag.Lookup("yaml")
		if !ok {
			continue
		}
		name, option, _ := strings.Cut(tag, ",")
		switch {
		case !f.IsExported():
			panic(fmt.Sprintf("doc: %s.%s: a field with a yaml tag must be exported", t, f.Name))
		case name == "" && option == "key" && f.Type.Kind() == reflect.String:
			s.key, s.keyRules = i, rulesOf(t, f)
		case name == "" && option == "position" && positionType.ConvertibleTo(f.Type):
			s.position = i
		case name == "" && option == "rest" && f.Type == nodeType:
			s.rest = i
		case name != "" && (option == "" || option == "required" || option == "refused"):
			r := rulesOf(t, f)
			r.required, r.refused = option == "required", option == "refused"
			s.fields = append(s.fields, field{name: name, index: i, rules: r})
		default:
			panic(fmt.Sprintf("doc: %s.%s: unknown tag yaml:%q for a %s", t, f.Name, tag, f.Type))
		}
	}
	shapes.Store(t, s)
	return s
}

func rulesOf(t reflect.Type, f reflect.StructField) rules {
	r := rules{reason: f.Tag.Get("reason")}
	if e := f.Tag.Get("enum"); e != "" {
		r.enum = strings.Split(e, ",")
	}
	if k := f.Tag.Get("known"); k != "" {
		r.known = strings.Split(k, ",")
	}
	if p := f.Tag.Get("pattern"); p != "" {
		r.pattern = regexp.MustCompile(p)
	}
	r.preset, r.hasPreset = f.Tag.Lookup("default")
	bound := func(tag string) *float64 {
		text, ok := f.Tag.Lookup(tag)
		if !ok {
			return nil
		}
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			panic(fmt.Sprintf("doc: %s.%s: tag %s: %v", t, f.Name, tag, err))
		}
		return &v
	}
	r.above, r.min, r.max = bound("above"), bound("min"), bound("max")
	return r
}

// names returns the keys that a mapping may have.
func (s *shape) names() []string {
	names := make([]string, len(s.fields))
	for i, f := range s.fields {
		names[i] = f.name
	}
	return names
}

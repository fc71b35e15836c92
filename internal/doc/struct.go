package doc

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// decodeStruct decodes a mapping into a struct by its tags.
func (n *Node) decodeStruct(v reflect.Value) bool {
	s := shapeOf(v.Type())
	if s.position >= 0 {
		p := v.Field(s.position)
		p.Set(reflect.ValueOf(n.key).Convert(p.Type()))
	}
	if n.kind == Null && n.text == "" {
		// A key without a value: name the missing key, which says more than the wrong type.
		if reason := missing(v.Type(), n.path); reason != "" {
			n.Errorf("", "%s", reason)
			return false
		}
	}
	if !n.is(Map, "a mapping") {
		return false
	}
	ok := true
	for _, f := range s.fields {
		child := n.Get(f.name)
		switch {
		case child != nil && f.rules.refused:
			child.Errorf("", "%s", f.rules.reason)
			ok = false
		case child != nil:
			ok = child.decode(v.FieldByIndex(f.index), f.rules) && ok
		case f.rules.required:
			n.Errorf("", "%s", f.missing(v.Type(), n.path))
			ok = false
		default:
			setDefault(v.FieldByIndex(f.index), f.rules)
		}
	}
	return n.decodeRest(s, v) && ok
}

// decodeRest stores the keys that no field has, or reports them if they are unknown.
func (n *Node) decodeRest(s *shape, v reflect.Value) bool {
	names := s.names()
	if s.rest >= 0 {
		v.Field(s.rest).Set(reflect.ValueOf(n.Without(names...)))
		return true
	}
	known := make(map[string]bool, len(names))
	for _, name := range names {
		known[name] = true
	}
	ok := true
	for _, e := range n.entries {
		if known[e.Key] {
			continue
		}
		reason, refused := n.doc.refused[anyIndex.ReplaceAllString(e.Value.path, "[]")]
		if !refused {
			reason = "unknown key" + DidYouMean(e.Key, append(names, n.hidden...))
		}
		n.doc.report(e.Position, e.Value.path, reason)
		ok = false
	}
	return ok
}

var anyIndex = lazyregexp.New(`\[[0-9]+\]`)

// missing returns the problem that a required key is missing. It names the innermost key that must be written.
func (f field) missing(parent reflect.Type, path string) string {
	if f.rules.reason != "" {
		return f.rules.reason
	}
	path = join(path, f.name)
	if t := parent.FieldByIndex(f.index).Type; t.Kind() == reflect.Struct {
		if reason := missing(t, path); reason != "" {
			return reason
		}
	}
	return fmt.Sprintf("`%s` is required", path)
}

// missing returns the problem with the first key that is missing in an empty mapping at path, which is decoded into
// struct type t. It is empty if none is required.
func missing(t reflect.Type, path string) string {
	for _, f := range shapeOf(t).fields {
		if f.rules.required {
			return f.missing(t, path)
		}
	}
	return ""
}

// setDefault sets a field whose key is absent to its default, and the fields of a struct to theirs.
func setDefault(v reflect.Value, r rules) {
	if v.Kind() == reflect.Struct {
		for _, f := range shapeOf(v.Type()).fields {
			setDefault(v.FieldByIndex(f.index), f.rules)
		}
		return
	}
	if !r.hasPreset {
		return
	}
	var err error
	switch v.Kind() {
	case reflect.String:
		v.SetString(r.preset)
	case reflect.Bool:
		v.SetBool(r.preset == "true")
	case reflect.Int, reflect.Int64:
		var i int64
		i, err = strconv.ParseInt(r.preset, 10, 64)
		v.SetInt(i)
	case reflect.Float64:
		var f float64
		f, err = strconv.ParseFloat(r.preset, 64)
		v.SetFloat(f)
	default:
		err = fmt.Errorf("no defaults for %s", v.Type())
	}
	if err != nil {
		panic(fmt.Sprintf("doc: tag default:%q: %v", r.preset, err))
	}
}

var (
	nodeType     = reflect.TypeFor[*Node]()
	positionType = reflect.TypeFor[Position]()
	durationType = reflect.TypeFor[time.Duration]()
)

// shape is the meaning of a struct's tags. See [Node.Decode].
type shape struct {
	fields []field
	// Indexes of the fields for an entry's key, its position and the undecoded rest of the keys, -1 for none.
	key, position, rest int
	keyRules            rules
}

// field is one key of a mapping that is decoded into a struct.
type field struct {
	name  string
	index []int
	rules rules
}

// rules are the rules for a value.
type rules struct {
	required  bool
	reason    string // the text of the problem if a required value is missing or empty
	refused   bool   // the key is not allowed, for the reason
	enum      []string
	known     []string       // the enum in the schema, which decoding does not check
	pattern   *regexp.Regexp // of a string, or of the keys of a mapping
	above     *float64       // what a number must exceed
	min, max  *float64       // of a number, or of the length of a list or mapping
	preset    string         // the default, as text
	hasPreset bool
}

var shapes sync.Map // reflect.Type to *shape

// shapeOf returns the shape of struct type t. It panics on invalid tags.
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
		case name == "" && option == "inline" && f.Type.Kind() == reflect.Struct:
			for _, of := range shapeOf(f.Type).fields {
				of.index = append([]int{i}, of.index...)
				s.fields = append(s.fields, of)
			}
		case name != "" && (option == "" || option == "required" || option == "refused"):
			r := rulesOf(t, f)
			r.required, r.refused = option == "required", option == "refused"
			s.fields = append(s.fields, field{name: name, index: []int{i}, rules: r})
		default:
			panic(fmt.Sprintf("doc: %s.%s: unknown tag yaml:%q for a %s", t, f.Name, tag, f.Type))
		}
	}
	shapes.Store(t, s)
	return s
}

// patterns are those that many keys have, by the names that stand in tags for them.
var patterns = map[string]string{
	"check":   `^[a-zA-Z0-9][a-zA-Z0-9_-]*$`,
	"id":      `^[a-zA-Z][a-zA-Z0-9_-]*$`,
	"program": `^[a-zA-Z0-9][a-zA-Z0-9._+-]*$`,
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
		p = cmp.Or(patterns[p], p)
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

// Of returns the document that decodes to v, a struct with the tags of [Node.Decode], so that values written in Go can
// be checked like those of a file. Zero values become absent keys. Positions have no meaning. The error is about
// numbers that JSON does not have, with the path of the key.
func Of(v any) (*Document, error) {
	value, err := written(reflect.ValueOf(v), "")
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return Parse("", text), nil
}

// written returns v, which is at a path, as it would be in a file.
func written(v reflect.Value, path string) (any, error) {
	if d, ok := v.Interface().(time.Duration); ok {
		return d.String(), nil
	}
	switch v.Kind() {
	case reflect.Struct:
		keys := make(map[string]any)
		for _, f := range shapeOf(v.Type()).fields {
			value := v.FieldByIndex(f.index)
			if value.IsZero() {
				continue
			}
			var err error
			if keys[f.name], err = written(value, join(path, f.name)); err != nil {
				return nil, err
			}
		}
		return keys, nil
	case reflect.Slice:
		items := make([]any, v.Len())
		for i := range items {
			var err error
			if items[i], err = written(v.Index(i), fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return nil, err
			}
		}
		return items, nil
	case reflect.Float64:
		if f := v.Float(); math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, fmt.Errorf("%s: must be a number, not %v", path, f)
		}
	}
	return v.Interface(), nil
}

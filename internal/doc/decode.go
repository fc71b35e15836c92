package doc

import (
	"encoding"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"
)

type handlers map[reflect.Type]func(n *Node, v reflect.Value)

// Handle sets the function that decodes values of type T, wherever they are below the value that is passed to
// [Node.Decode]. The function may call n.Decode(v) to decode the keys that T's tags define.
func Handle[T any](d *Document, decode func(v *T, n *Node)) {
	if d.handlers == nil {
		d.handlers = make(handlers)
	}
	d.handlers[reflect.TypeFor[T]()] = func(n *Node, v reflect.Value) { decode(v.Addr().Interface().(*T), n) }
}

// Decode stores the node in the value that v points to and reports all problems: unknown keys, wrong types, values that
// break the rules of the struct tags. It returns true if there are none. It panics if the type of v cannot be decoded
// into, which is a mistake in the program.
//
// Nothing is converted: strings take strings, integers take integers in range. A struct takes a mapping, a map takes a
// mapping, and so does a slice of structs with a field tagged `yaml:",key"`, which keeps the order of the file. A
// time.Duration takes a string as [time.ParseDuration] does, an [encoding.TextUnmarshaler] any string, and an any takes
// what [Node.Value] returns. A pointer stays nil if the key is absent.
//
// Struct fields without a yaml tag are ignored. The tags are
//
//	yaml:"name"          the key
//	yaml:"name,required" it must be present, and neither null nor empty nor blank
//	yaml:"name,refused"  it must not be present, for the reason; the field stays as it is
//	yaml:",key"          takes the struct's key in its mapping
//	yaml:",position"     takes the [Position] of the struct's entry
//	yaml:",inline"       a struct whose keys are those of the mapping that it is in
//	yaml:",rest"         a *Node that takes the keys that no other field has; without it they are unknown
//	doc:"..."            a description for people
//	default:"1"          the value if the key is absent
//	enum:"a,b"           the allowed strings
//	known:"a,b"          the allowed strings in the schema; Decode does not check them
//	pattern:"^...$"      what a string, or each key of a mapping, must match; "id" and "program" name common ones
//	min:"1" max:"9"      bounds of a number, or of the length of a list or mapping; min:"1": a string is not blank
//	above:"0"            what a number must exceed
//	reason:"..."         the text of the problem if a required value is missing or empty
func (n *Node) Decode(v any) bool {
	p := reflect.ValueOf(v)
	if p.Kind() != reflect.Pointer || p.IsNil() {
		panic(fmt.Sprintf("doc: Decode needs a pointer, not %T", v))
	}
	if n == nil {
		return false
	}
	before := n.doc.reported
	return n.decodeUnhandled(p.Elem(), rules{}) && !n.flawed && n.doc.reported == before
}

// decode stores n in v and reports whether it could. If not, v keeps its zero value.
func (n *Node) decode(v reflect.Value, r rules) bool {
	if h, ok := n.doc.handlers[v.Type()]; ok {
		before := n.doc.reported
		h(n, v)
		return n.doc.reported == before
	}
	return n.decodeUnhandled(v, r)
}

func (n *Node) decodeUnhandled(v reflect.Value, r rules) bool {
	if n.kind == Invalid {
		return false
	}
	if t, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return n.decodeText(t)
	}
	switch {
	case v.Type() == durationType:
		return n.decodeDuration(v, r)
	case v.Type() == nodeType:
		v.Set(reflect.ValueOf(n))
		return true
	}
	switch v.Kind() {
	case reflect.Pointer:
		p := reflect.New(v.Type().Elem())
		ok := n.decode(p.Elem(), r)
		if ok {
			v.Set(p)
		}
		return ok
	case reflect.Interface:
		if n.kind != Null {
			v.Set(reflect.ValueOf(n.Value()))
		}
		return true
	case reflect.Bool:
		if !n.is(Bool, "true or false") {
			return false
		}
		v.SetBool(n.text == "true")
		return true
	case reflect.String:
		return n.decodeString(v, r)
	case reflect.Int, reflect.Int64:
		return n.decodeInt(v, r)
	case reflect.Float64:
		return n.decodeFloat(v, r)
	case reflect.Slice:
		return n.decodeSlice(v, r)
	case reflect.Map:
		return n.decodeMap(v, r)
	case reflect.Struct:
		return n.decodeStruct(v)
	default:
		panic(fmt.Sprintf("doc: cannot decode into %s", v.Type()))
	}
}

const aString = "a string"

// is reports whether n has kind k. If not, it adds a problem, which says that n must be what want says.
func (n *Node) is(k Kind, want string) bool {
	if n.kind == k {
		return true
	}
	hint := ""
	switch {
	case n.kind == Null && n.text == "":
		n.Errorf("", "must be %s, but there is no value", want)
		return false
	case want == aString && (n.kind == Number || n.kind == Bool):
		hint = ": quote it"
	case k == Number && n.kind == String && jsonNumber.MatchString(n.text):
		hint = ": remove the quotes"
	}
	n.Errorf("", "must be %s, not %s%s", want, n.kind, hint)
	return false
}

func (n *Node) decodeText(t encoding.TextUnmarshaler) bool {
	if !n.is(String, aString) {
		return false
	}
	if err := t.UnmarshalText([]byte(n.text)); err != nil {
		n.Errorf("", "%v", err)
		return false
	}
	return true
}

func (n *Node) decodeDuration(v reflect.Value, r rules) bool {
	if !n.is(String, `a duration like "90s" or "30m"`) {
		return false
	}
	d, err := time.ParseDuration(n.text)
	if err != nil {
		n.Errorf("", `must be a duration like "90s" or "30m", not %q`, n.text)
		return false
	}
	if r.min != nil && d.Seconds() < *r.min {
		n.Errorf("", "must be at least %v, not %s", time.Duration(*r.min*float64(time.Second)), n.text)
		return false
	}
	v.SetInt(int64(d))
	return true
}

func (n *Node) decodeString(v reflect.Value, r rules) bool {
	if !n.is(String, aString) {
		return false
	}
	if r.enum != nil {
		return n.decodeEnum(v, r.enum)
	}
	if (r.required || r.min != nil) && strings.TrimSpace(n.text) == "" {
		n.empty(r)
		return false
	}
	if !n.matches(r, n.text) {
		return false
	}
	v.SetString(n.text)
	return true
}

func (n *Node) decodeEnum(v reflect.Value, enum []string) bool {
	for _, e := range enum {
		if n.text == e {
			v.SetString(e)
			return true
		}
	}
	n.Errorf("", "must be one of %s, not %q%s", strings.Join(enum, ", "), n.text, DidYouMean(n.text, enum))
	return false
}

func (n *Node) matches(r rules, text string) bool {
	if r.pattern == nil || r.pattern.MatchString(text) {
		return true
	}
	n.Errorf("", "%q must match %s", text, r.pattern)
	return false
}

func (n *Node) empty(r rules) {
	if r.reason != "" {
		n.Errorf("", "%s", r.reason)
		return
	}
	n.Errorf("", "must not be empty")
}

func (n *Node) decodeInt(v reflect.Value, r rules) bool {
	if !n.is(Number, "an integer") {
		return false
	}
	i, err := strconv.ParseInt(n.text, 10, 64)
	switch {
	case err != nil && strings.ContainsAny(n.text, ".eE"):
		n.Errorf("", "must be an integer, not %s", n.text)
		return false
	case err != nil || v.OverflowInt(i):
		n.Errorf("", "%s is out of range", n.text)
		return false
	}
	v.SetInt(i)
	return n.inRange(r, float64(i))
}

func (n *Node) decodeFloat(v reflect.Value, r rules) bool {
	if !n.is(Number, "a number") {
		return false
	}
	f, err := strconv.ParseFloat(n.text, 64)
	if err != nil {
		n.Errorf("", "%s is out of range", n.text)
		return false
	}
	v.SetFloat(f)
	return n.inRange(r, f)
}

func (n *Node) inRange(r rules, f float64) bool {
	switch {
	case r.above != nil && f <= *r.above:
		n.Errorf("", "must be above %v, not %s", *r.above, n.text)
	case r.min != nil && f < *r.min:
		n.Errorf("", "must be at least %v, not %s", *r.min, n.text)
	case r.max != nil && f > *r.max:
		n.Errorf("", "must be at most %v, not %s", *r.max, n.text)
	default:
		return true
	}
	return false
}

// isNothing reports whether n is null, or an empty list or mapping.
func (n *Node) isNothing() bool {
	return n.kind == Null || (n.kind == List || n.kind == Map) && len(n.items)+len(n.entries) == 0
}

// hasLength checks the number of elements of a list or mapping.
func (n *Node) hasLength(r rules, length int) bool {
	switch {
	case length == 0 && (r.required || r.min != nil):
		n.empty(r)
	case r.min != nil && float64(length) < *r.min:
		n.Errorf("", "must have at least %v elements, not %d", *r.min, length)
	case r.max != nil && float64(length) > *r.max:
		n.Errorf("", "must have at most %v elements, not %d", *r.max, length)
	default:
		return true
	}
	return false
}

func (n *Node) decodeSlice(v reflect.Value, r rules) bool {
	if isKeyed(v.Type()) {
		return n.decodeKeyed(v, r)
	}
	if n.isNothing() && r.reason != "" {
		n.empty(r)
		return false
	}
	if !n.is(List, "a list") || !n.hasLength(r, len(n.items)) {
		return false
	}
	element := rules{enum: r.enum, pattern: r.pattern}
	list, ok := reflect.MakeSlice(v.Type(), len(n.items), len(n.items)), true
	for i, item := range n.items {
		ok = item.decode(list.Index(i), element) && ok
	}
	v.Set(list)
	return ok
}

// isKeyed reports whether slice type t is decoded from a mapping.
func isKeyed(t reflect.Type) bool {
	return t.Elem().Kind() == reflect.Struct && shapeOf(t.Elem()).key >= 0
}

// decodeKeyed decodes a mapping into a slice, in the order of the file.
func (n *Node) decodeKeyed(v reflect.Value, r rules) bool {
	if n.isNothing() && r.reason != "" {
		n.empty(r)
		return false
	}
	if !n.is(Map, "a mapping") || !n.hasLength(r, len(n.entries)) {
		return false
	}
	s := shapeOf(v.Type().Elem())
	list, ok := reflect.MakeSlice(v.Type(), len(n.entries), len(n.entries)), true
	for i, e := range n.entries {
		list.Index(i).Field(s.key).SetString(e.Key)
		ok = e.checkKey(s.keyRules) && ok
		ok = e.Value.decode(list.Index(i), rules{}) && ok
	}
	v.Set(list)
	return ok
}

// checkKey reports whether the key matches the rules' pattern. If not, it adds a problem.
func (e Entry) checkKey(r rules) bool {
	if r.pattern == nil || r.pattern.MatchString(e.Key) {
		return true
	}
	d := e.Value.doc
	d.report(e.Position, e.Value.path, fmt.Sprintf("%q must match %s", e.Key, r.pattern))
	return false
}

func (n *Node) decodeMap(v reflect.Value, r rules) bool {
	if !n.is(Map, "a mapping") || !n.hasLength(r, len(n.entries)) {
		return false
	}
	m, ok := reflect.MakeMapWithSize(v.Type(), len(n.entries)), true
	for _, e := range n.entries {
		value := reflect.New(v.Type().Elem()).Elem()
		ok = e.checkKey(r) && e.Value.decode(value, rules{}) && ok
		m.SetMapIndex(reflect.ValueOf(e.Key).Convert(v.Type().Key()), value)
	}
	v.Set(m)
	return ok
}

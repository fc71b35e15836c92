package doc

import (
	"fmt"
	"reflect"
	"strconv"

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
		// A key with nothing below it: what is missing says more than what it is.
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
			ok = child.decode(v.Field(f.index), f.rules) && ok
		case f.rules.required:
			n.Errorf("", "%s", f.missing(v.Type(), n.path))
			ok = false
		default:
			setDefault(v.Field(f.index), f.rules)
		}
	}
	return n.decodeRest(s, v) && ok
}

// decodeRest stores or reports the keys that no field has.
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

// missing says that a required key is not there, naming the innermost key that has to be written.
func (f field) missing(parent reflect.Type, path string) string {
	if f.rules.reason != "" {
		return f.rules.reason
	}
	path = join(path, f.name)
	if t := parent.Field(f.index).Type; t.Kind() == reflect.Struct {
		if reason := missing(t, path); reason != "" {
			return reason
		}
	}
	return fmt.Sprintf("`%s` is required", path)
}

// missing says what is missing first in an empty mapping at path that is decoded into struct type t.
func missing(t reflect.Type, path string) string {
	for _, f := range shapeOf(t).fields {
		if f.rules.required {
			return f.missing(t, path)
		}
	}
	return ""
}

// setDefault gives a field whose key is absent its default, and the fields of a struct theirs.
func setDefault(v reflect.Value, r rules) {
	if v.Kind() == reflect.Struct {
		for _, f := range shapeOf(v.Type()).fields {
			setDefault(v.Field(f.index), f.rules)
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

package jsonvalue

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// keyChecker reads a JSON text that encoding/json has decoded, so that it is valid and does not nest too deeply.
type keyChecker struct {
	text    []byte
	at      int
	unknown bool // keys that no field has are ignored
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// value reads a value that was decoded into one of type t; nil is any type. After an error, c.at is its place.
func (c *keyChecker) value(t reflect.Type) error {
	switch c.next() {
	case '{':
		return c.object(container(t))
	case '[':
		return c.array(elementOf(container(t)))
	case '"':
		c.quoted()
	default:
		for c.at < len(c.text) && strings.IndexByte(space+",]}", c.text[c.at]) < 0 {
			c.at++
		}
	}
	return nil
}

// container returns the type that an object or an array is decoded into, nil if that decodes itself.
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
	seen := make(map[string]bool)
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
	c.at++
	return nil
}

// next returns the byte that the next token begins with.
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
		panic(fmt.Sprintf("jsonvalue: a key that was decoded cannot be decoded: %v", err))
	}
	return key
}

// field returns the type of the field of t with that key, nil if there is none.
func (c *keyChecker) field(t reflect.Type, key string) (reflect.Type, error) {
	fields := Fields(t)
	if of, ok := fields[key]; ok {
		return of, nil
	}
	for name := range fields {
		if strings.EqualFold(name, key) { // encoding/json has taken the one for the other
			return nil, fmt.Errorf("unknown key %q: it is written %q", key, name)
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

// field is what an object's key is decoded into.
type field struct {
	of        reflect.Type
	depth     int // how many embedded structs it lies in
	tagged    bool
	ambiguous bool // two fields have the key, so that neither gets it
}

var structs sync.Map // map[string]reflect.Type by reflect.Type

// Fields returns the types of a struct's fields by their keys, by the rules of encoding/json. The map must not be changed.
func Fields(t reflect.Type) map[string]reflect.Type {
	if types, ok := structs.Load(t); ok {
		return types.(map[string]reflect.Type)
	}
	fields := make(map[string]field)
	addFields(fields, t, nil)
	types := make(map[string]reflect.Type)
	for key, f := range fields {
		if !f.ambiguous {
			types[key] = f.of
		}
	}
	structs.Store(t, types)
	return types
}

// addFields adds the fields of t, which is embedded in the structs around it.
func addFields(fields map[string]field, t reflect.Type, around []reflect.Type) {
	if slices.Contains(around, t) {
		return
	}
	for f := range t.Fields() {
		tag := f.Tag.Get("json")
		name, _, _ := strings.Cut(tag, ",")
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
		found := field{of: f.Type, depth: len(around), tagged: name != ""}
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

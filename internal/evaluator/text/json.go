package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

// shape is what a text has to be as JSON.
type shape struct {
	object bool                 // somewhere in the text; else the text is the JSON
	schema *jsonschema.Resolved // nil: any
}

func (s shape) String() string {
	text := "is JSON"
	if s.object {
		text = "contains a JSON object"
	}
	if s.schema != nil {
		text += " as the schema says"
	}
	return text
}

// problem says why a JSON text is not as it has to be; empty: it is.
func (s shape) problem(text string) string {
	var value any
	if err := jsonvalue.DecodeStrict([]byte(text), &value, jsonvalue.Floats); err != nil {
		if e, ok := errors.AsType[*jsonvalue.Error](err); ok && e.Line > 0 {
			return fmt.Sprintf("is not JSON: line %d: %v", e.Line, err)
		}
		return fmt.Sprintf("is not JSON: %v", err)
	}
	if s.schema == nil {
		return ""
	}
	if err := s.schema.Validate(value); err != nil {
		return "is not as the schema says: " + excerpt.Line(err.Error(), maxBegin)
	}
	return ""
}

// maxScanned bounds the bytes in which objects are looked for, those that are read again among them.
const maxScanned = 64 << 20

// judge is [rule.judge].
func (s shape) judge(from source) (evidence string, holds bool) {
	if !s.object {
		if problem := s.problem(from.text); problem != "" {
			return fmt.Sprintf("%s %s; it %s", from, problem, strings.TrimPrefix(from.begins(), "which ")), false
		}
		return fmt.Sprintf("%s is JSON, %s", from, from.begins()), true
	}
	first, scanned, where := "", 0, from.String()
	for at := 0; ; {
		if scanned > maxScanned {
			where = fmt.Sprintf("the first %d bytes of %s, after which there is too much to read", at, from)
			break
		}
		next := strings.IndexByte(from.text[at:], '{')
		if next < 0 {
			break
		}
		at += next
		var object json.RawMessage
		d := json.NewDecoder(strings.NewReader(from.text[at:]))
		if err := d.Decode(&object); err != nil {
			e, ok := errors.AsType[*json.SyntaxError](err)
			if scanned += len(from.text) - at; ok {
				scanned += int(e.Offset) - (len(from.text) - at)
			}
			at++
			continue
		}
		scanned += len(object)
		problem := s.problem(string(object))
		if problem == "" {
			return "a JSON object is " + from.at([]int{at, at + len(object)}), true
		}
		if first == "" {
			first = fmt.Sprintf("the JSON object %s %s", from.at([]int{at, at + len(object)}), problem)
		}
		at += len(object)
	}
	if first != "" {
		return first, false
	}
	return fmt.Sprintf("no JSON object is found in %s, %s", where, from.begins()), false
}

// keyword is what a keyword of a schema is.
type keyword struct {
	schemas bool // it has schemas
	here    bool // which are about the same value
	draft7  bool // draft 2020-12 does not have it
}

// keywords are those of schemas that are honoured. Others are refused: they would be passed over.
var keywords = map[string]keyword{
	"$schema": {}, "$id": {}, "$comment": {}, "title": {}, "description": {}, "default": {}, "examples": {},
	"deprecated": {}, "readOnly": {}, "writeOnly": {},
	"type": {}, "enum": {}, "const": {}, "multipleOf": {}, "minimum": {}, "maximum": {}, "exclusiveMinimum": {},
	"exclusiveMaximum": {}, "minLength": {}, "maxLength": {}, "pattern": {}, "minItems": {}, "maxItems": {},
	"uniqueItems": {}, "minContains": {}, "maxContains": {}, "minProperties": {}, "maxProperties": {}, "required": {},
	"dependentRequired": {}, "$ref": {},
	"$defs": {schemas: true}, "definitions": {schemas: true}, "prefixItems": {schemas: true}, "items": {schemas: true},
	"contains": {schemas: true}, "properties": {schemas: true}, "patternProperties": {schemas: true},
	"additionalProperties": {schemas: true}, "propertyNames": {schemas: true},
	"unevaluatedItems": {schemas: true}, "unevaluatedProperties": {schemas: true},
	"allOf": {schemas: true, here: true}, "anyOf": {schemas: true, here: true}, "oneOf": {schemas: true, here: true},
	"not": {schemas: true, here: true}, "if": {schemas: true, here: true}, "then": {schemas: true, here: true},
	"else": {schemas: true, here: true}, "dependentSchemas": {schemas: true, here: true},
	"additionalItems": {schemas: true, draft7: true}, "dependencies": {schemas: true, here: true, draft7: true},
}

// named are the keywords whose schemas have names, which may be those of keywords.
var named = []string{"$defs", "definitions", "properties", "patternProperties", "dependentSchemas", "dependencies"}

// beside are keywords that say nothing of a value, and those that refer.
var beside = []string{"$schema", "$id", "$comment", "$ref", "$defs", "definitions", "title", "description", "default"}

// Schema returns the schema that a value is, as JSON or YAML has it. What would be passed over is an error.
func Schema(v any) (*jsonschema.Resolved, error) {
	w := walk{same: make(map[string][]string)}
	root, _ := v.(map[string]any)
	version, _ := root["$schema"].(string)
	switch {
	case root["$schema"] == nil || strings.Contains(version, "2020-12"):
	case strings.Contains(version, "draft-07"):
		w.draft7 = true
	default:
		return nil, fmt.Errorf("$schema: drafts 2020-12, the default, and draft-07 are read, not %v", root["$schema"])
	}
	if err := w.schema("", v); err != nil {
		return nil, err
	}
	done := make(map[string]bool)
	for _, path := range slices.Sorted(maps.Keys(w.same)) {
		if w.returns(path, done) {
			return nil, fmt.Errorf("#%s: it refers to itself", path)
		}
	}
	data, err := jsonvalue.Marshal(v)
	if err != nil {
		return nil, err
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	if w.draft7 {
		s.Schema = "http://json-schema.org/draft-07/schema#" // it may be written in other ways
	} else {
		s.Schema = ""
	}
	return s.Resolve(nil)
}

// walk looks through a schema.
type walk struct {
	draft7 bool
	same   map[string][]string // by the path of a schema those that are about the same value
}

func (w *walk) schema(path string, v any) error {
	m, ok := v.(map[string]any)
	if !ok {
		return nil // true, false, or what cannot be decoded
	}
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if err := w.keyword(path, key, m); err != nil {
			return err
		}
	}
	return nil
}

func (w *walk) keyword(path, key string, m map[string]any) error {
	k, known := keywords[key]
	list, isList := m[key].([]any)
	bad := func(what string) error { return fmt.Errorf("#%s/%s: %s", path, key, what) }
	switch {
	case !known:
		return bad("this keyword is not checked" + map[bool]string{true: ": write a pattern"}[key == "format"])
	case key == "$id" && path != "":
		return bad("only the schema as a whole can have one")
	case (k.draft7 || key == "items" && isList) && !w.draft7:
		return bad(`draft 2020-12 does not have it: write "$schema": "http://json-schema.org/draft-07/schema#"`)
	case w.draft7 && m["$ref"] != nil && !slices.Contains(beside, key):
		return bad("draft-07 passes over what stands beside $ref")
	case key == "$ref":
		text, _ := m[key].(string)
		to, ok := strings.CutPrefix(text, "#")
		if !ok || to != "" && to[0] != '/' || strings.Contains(to, "%") {
			return bad(fmt.Sprintf("%q leads to no schema in this one, as #/$defs/name does", text))
		}
		w.same[path] = append(w.same[path], to)
	case !k.schemas:
	case isList:
		for i, item := range list {
			if err := w.child(path, k, key+"/"+strconv.Itoa(i), item); err != nil {
				return err
			}
		}
	case slices.Contains(named, key):
		all, _ := m[key].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(all)) {
			own := strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
			if err := w.child(path, k, key+"/"+own, all[name]); err != nil {
				return err
			}
		}
	default:
		return w.child(path, k, key, m[key])
	}
	return nil
}

func (w *walk) child(path string, k keyword, name string, v any) error {
	own := path + "/" + name
	if k.here {
		w.same[path] = append(w.same[path], own)
	}
	return w.schema(own, v)
}

// returns reports whether a schema leads back to itself, or to one that is looked at: done has these, and with true
// those that do not.
func (w *walk) returns(path string, done map[string]bool) bool {
	if known, seen := done[path]; seen {
		return !known
	}
	done[path] = false
	if slices.ContainsFunc(w.same[path], func(next string) bool { return w.returns(next, done) }) {
		return true
	}
	done[path] = true
	return false
}

// shape returns what the check's keys say of JSON.
func (k checkKeys) shape(item *doc.Node) *shape {
	s := &shape{object: k.JSON == "object"}
	if k.Schema != nil {
		var err error
		if s.schema, err = Schema(k.Schema.Value()); err != nil {
			item.Errorf("schema", "%v", err)
		}
	}
	return s
}

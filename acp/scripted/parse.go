package scripted

import (
	"bytes"
	_ "embed"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

//go:embed default.json
var defaultScript []byte

// Default returns the script for a first run: whatever it is asked, the agent reads README.md through the client if
// there is one, asks whether it may write hello.txt, and says that it is done.
func Default() Script {
	s, err := Parse("default.json", defaultScript)
	if err != nil {
		panic("scripted: invalid built-in script: " + err.Error())
	}
	return s
}

// maxScript is the size in bytes up to which a script is read.
const maxScript = 16 << 20

// Load reads a script from a file.
func Load(file string) (Script, error) {
	f, err := os.Open(file)
	if err != nil {
		return Script{}, fmt.Errorf("read script: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err != nil {
		return Script{}, fmt.Errorf("read script: %w", err)
	}
	if len(data) > maxScript {
		return Script{}, fmt.Errorf("read script: %s exceeds the %d MiB limit", file, maxScript>>20)
	}
	return Parse(file, data)
}

// Parse reads a script from JSON. It is strict: unknown keys, duplicate keys, null, and invalid values are errors. The
// error reports as many problems at once as it can, a line each: "file:line:column: path: reason".
func Parse(file string, data []byte) (Script, error) {
	p := parser{file: file, data: data, at: make(map[string]int64)}
	var s Script
	var syntax *jsonvalue.Error
	if errors.As(jsonvalue.DecodeStrict(data, new(json.RawMessage), 0), &syntax) {
		p.problems = append(p.problems, fmt.Errorf("%s:%d:%d: %w", file, syntax.Line, syntax.Column, syntax))
	} else {
		p.dec = json.NewDecoder(bytes.NewReader(data))
		p.dec.UseNumber()
		p.value(reflect.TypeFor[Script](), "")
	}
	if p.problems == nil {
		if err := jsonvalue.Decode(data, &s); err != nil {
			p.report(0, "", err.Error())
		}
	}
	if p.problems == nil {
		s.check(func(path, reason string) { p.report(p.find(path), path, reason) })
	}
	return s, errors.Join(p.problems...)
}

// parser checks a JSON text against the types that it will be decoded into, because encoding/json does not say where an
// unknown member is, and accepts nulls.
type parser struct {
	file     string
	data     []byte
	dec      *json.Decoder
	at       map[string]int64 // where the values begin, by path
	problems []error
}

func (p *parser) report(offset int64, path, reason string) {
	before := p.data[:offset]
	line := 1 + bytes.Count(before, []byte("\n"))
	column := 1 + len(before) - (1 + bytes.LastIndexByte(before, '\n'))
	if path != "" {
		reason = path + ": " + reason
	}
	p.problems = append(p.problems, fmt.Errorf("%s:%d:%d: %s", p.file, line, column, reason))
}

// find returns where the value with that path begins, or the value around it if it is missing.
func (p *parser) find(path string) int64 {
	for {
		if offset, ok := p.at[path]; ok {
			return offset
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
}

// next returns where the next token begins.
func (p *parser) next() int64 {
	offset := p.dec.InputOffset()
	between := func(r rune) bool { return !strings.ContainsRune(" \t\r\n,:", r) }
	return offset + int64(bytes.IndexFunc(p.data[offset:], between))
}

func (p *parser) token() json.Token {
	t, err := p.dec.Token()
	if err != nil {
		panic("scripted: a valid JSON text has no next token: " + err.Error())
	}
	return t
}

// value checks the next value against t; nil: anything goes.
func (p *parser) value(t reflect.Type, path string) {
	offset := p.next()
	p.at[path] = offset
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	token := p.token()
	want, ok := accepts(t, token)
	if !ok {
		p.report(offset, path, "want "+want+", got "+describe(token))
		t = nil
	}
	switch token {
	case json.Delim('{'):
		p.object(t, path)
	case json.Delim('['):
		for i := 0; p.dec.More(); i++ {
			var elem reflect.Type
			if t != nil && t.Kind() == reflect.Slice {
				elem = t.Elem()
			}
			p.value(elem, path+"["+strconv.Itoa(i)+"]")
		}
		p.token()
	}
}

// object checks the members of an object whose brace has been read.
func (p *parser) object(t reflect.Type, path string) {
	for p.dec.More() {
		offset := p.next()
		name := p.token().(string)
		below := strings.TrimPrefix(path+"."+name, ".")
		var member reflect.Type
		switch {
		case t == nil:
		case t.Kind() == reflect.Map:
			member = t.Elem()
		case t.Kind() == reflect.Struct:
			fields := jsonvalue.Fields(t)
			if member = fields[name]; member == nil {
				p.report(offset, below, "unknown key; known keys: "+knownNames(fields))
			}
		}
		p.value(member, below)
	}
	p.token()
}

// accepts reports whether a value that begins with token can be decoded into t, and what t wants.
func accepts(t reflect.Type, token json.Token) (want string, ok bool) {
	if t == nil || t.Kind() == reflect.Interface {
		return "", true
	}
	if u, isText := reflect.New(t).Interface().(encoding.TextUnmarshaler); isText {
		s, isString := token.(string)
		return `a duration like "1.5s"`, isString && u.UnmarshalText([]byte(s)) == nil
	}
	number, _ := token.(json.Number)
	switch t.Kind() {
	case reflect.String:
		_, ok = token.(string)
		return "a string", ok
	case reflect.Bool:
		_, ok = token.(bool)
		return "true or false", ok
	case reflect.Int, reflect.Int64:
		_, err := strconv.ParseInt(string(number), 10, t.Bits())
		return "a whole number", err == nil
	case reflect.Float64:
		_, err := strconv.ParseFloat(string(number), 64)
		return "a number", err == nil
	case reflect.Slice:
		return "an array", token == json.Delim('[')
	default: // structs and maps
		return "an object", token == json.Delim('{')
	}
}

func describe(token json.Token) string {
	switch token := token.(type) {
	case nil:
		return "null"
	case string:
		return strconv.Quote(token)
	case json.Delim:
		if token == '{' {
			return "an object"
		}
		return "an array"
	default:
		return fmt.Sprint(token)
	}
}

func knownNames(fields map[string]reflect.Type) string {
	return strings.Join(slices.Sorted(maps.Keys(fields)), ", ")
}

package agent

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"
	"github.com/pelletier/go-toml/v2/unstable"

	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// presetFile is a TOML file with presets.
type presetFile struct {
	path string
	data []byte
}

// table is a table in a file with presets. Its methods remove the keys that they take, so the keys that remain are
// unknown. Its errors name keys and never show values.
type table struct {
	file    string
	lines   keyLines // of the whole file
	path    []string
	entries map[string]any
	renamed map[string]string // old names of keys, by those of today
	errs    []error
}

// unknownPreset is the error for a name that is not among the names of the presets in a file.
type unknownPreset []string

func (names unknownPreset) Error() string {
	if len(names) == 0 {
		return "the file has no presets"
	}
	return "available: " + strings.Join(names, ", ")
}

// table returns the table [section.name] of a file that may have only tables of that section.
func (f presetFile) table(section, name string) (*table, error) {
	var file map[string]any
	if err := toml.Unmarshal(f.data, &file); err != nil {
		// The decoder's error may quote the file.
		where := f.path
		if d, ok := errors.AsType[*toml.DecodeError](err); ok {
			line, _ := d.Position()
			where = fmt.Sprintf("%s:%d", f.path, line)
		}
		return nil, fmt.Errorf("%s: not valid TOML", where)
	}
	t := &table{file: f.path, lines: findKeys(f.data), path: []string{section, name}}
	for _, key := range slices.Sorted(maps.Keys(file)) {
		if key != section && !slices.Contains(foreignTables, key) {
			return nil, fmt.Errorf("%s: unknown key %q; presets belong in tables [%s.NAME]",
				t.position(key), key, section)
		}
	}
	presets, ok := file[section].(map[string]any)
	if _, given := file[section]; given && !ok {
		return nil, fmt.Errorf("%s: %q must have tables [%s.NAME]", t.position(section), section, section)
	}
	found, ok := presets[name]
	if !ok {
		return nil, unknownPreset(slices.Sorted(maps.Keys(presets)))
	}
	entries, ok := found.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: %s must be a table", t.position(t.path...), t.name())
	}
	t.entries = entries
	return t, nil
}

// foreignTables are what llman, whose files these are, keeps in them beside accounts.
var foreignTables = []string{"llman_configs", "security"}

// err returns the errors so far.
func (t *table) err() error { return errors.Join(t.errs...) }

func (t *table) fail(key, reason string) {
	t.errs = append(t.errs, fmt.Errorf("%s: [%s] %q: %s", t.position(t.key(key)...), t.name(), t.written(key), reason))
}

// name returns the table's name as it is written in brackets.
func (t *table) name() string { return strings.Join(t.path, ".") }

// key returns the path of a key in the table.
func (t *table) key(name string) []string { return append(slices.Clone(t.path), t.written(name)) }

// written returns a key as the file has it.
func (t *table) written(key string) string { return cmp.Or(t.renamed[key], key) }

// position returns the position of a key as file:line.
func (t *table) position(path ...string) string {
	return fmt.Sprintf("%s:%d", t.file, t.lines.of(path))
}

// take removes a key and returns its value.
func (t *table) take(key string) (any, bool) {
	v, ok := t.entries[key]
	delete(t.entries, key)
	return v, ok
}

// text takes a string. It returns "" if the key is missing.
func (t *table) text(key string) string {
	v, ok := t.take(key)
	s, isText := v.(string)
	switch {
	case ok && !isText:
		t.fail(key, "must be a string")
	case strings.ContainsRune(s, 0):
		t.fail(key, "contains a NUL character")
	}
	return s
}

// flag takes a boolean, and reports whether there is one.
func (t *table) flag(key string) (value, ok bool) {
	v, given := t.take(key)
	if value, ok = v.(bool); given && !ok {
		t.fail(key, "must be true or false")
	}
	return value, ok
}

// texts takes a list of strings. It returns nil if the key is missing.
func (t *table) texts(key string) []string {
	v, ok := t.take(key)
	if !ok {
		return nil
	}
	list, isList := v.([]any)
	texts := make([]string, 0, len(list))
	for _, e := range list {
		s, isText := e.(string)
		isList = isList && isText
		texts = append(texts, s)
	}
	if !isList {
		t.fail(key, "must be a list of strings")
		return nil
	}
	return texts
}

// table takes a table. It returns an empty one if the key is missing.
func (t *table) table(key string) *table {
	sub := &table{file: t.file, lines: t.lines, path: t.key(key)}
	v, ok := t.take(key)
	if sub.entries, _ = v.(map[string]any); ok && sub.entries == nil {
		t.fail(key, "must be a table")
	}
	return sub
}

// entriesOf returns what a table below has, without taking it.
func (t *table) entriesOf(key string) map[string]any {
	entries, _ := t.entries[key].(map[string]any)
	return entries
}

// done reports the keys that nothing took.
func (t *table) done() {
	for _, key := range slices.Sorted(maps.Keys(t.entries)) {
		t.fail(key, "unknown key")
	}
}

// variable matches the names of variables that a preset may set.
var variable = lazyregexp.New(`^([A-Z_][A-Z0-9_]*|https?_proxy|no_proxy|all_proxy)$`)

// reserved lists the variables that sdd-eval sets for every agent.
var reserved = []string{"HOME", "TMPDIR", "PATH", "CODEX_HOME"}

// variables takes all remaining keys as variables.
func (t *table) variables() map[string]string {
	env := make(map[string]string)
	for _, key := range slices.Sorted(maps.Keys(t.entries)) {
		switch {
		case !variable.MatchString(key):
			hint := cmp.Or(doc.DidYouMean(key, commonKeys), "; names of variables are in upper case")
			t.fail(key, "unknown key"+hint)
		case slices.Contains(reserved, key):
			t.fail(key, "cannot be preset, because each run sets its own")
		default:
			env[key] = t.text(key)
		}
	}
	return env
}

// keyLines has the lines of the keys in a TOML file, counted from 1, by pathKey of their dotted paths.
type keyLines map[string]int

// pathKey returns a dotted path as one string. Its keys may contain any character.
func pathKey(path []string) string { return fmt.Sprintf("%q", path) }

// of returns the line of a key or, if it has none, of the innermost table around it.
func (l keyLines) of(path []string) int {
	for ; len(path) > 0; path = path[:len(path)-1] {
		if line, ok := l[pathKey(path)]; ok {
			return line
		}
	}
	return 1
}

// findKeys returns the lines of the keys in valid TOML.
func findKeys(data []byte) keyLines {
	var p unstable.Parser
	p.Reset(data)
	f := keyFinder{data: data, line: 1, lines: make(keyLines)}
	var table []string
	for p.NextExpression() {
		switch e := p.Expression(); e.Kind {
		case unstable.Table, unstable.ArrayTable:
			table = f.add(nil, e)
		case unstable.KeyValue:
			f.add(table, e)
		}
	}
	return f.lines
}

// keyFinder collects the keys of data in their order.
type keyFinder struct {
	data  []byte
	at    int // the end of the bytes whose lines are counted
	line  int
	lines keyLines
}

// add adds the key of a node in a table, and the keys in its value. It returns the key's path.
func (f *keyFinder) add(table []string, n *unstable.Node) []string {
	path := slices.Clone(table)
	for key := n.Key(); key.Next(); {
		path = append(path, string(key.Node().Data))
		to := int(key.Node().Raw.Offset)
		f.line += bytes.Count(f.data[f.at:to], []byte("\n"))
		f.at = to
		if _, known := f.lines[pathKey(path)]; !known {
			f.lines[pathKey(path)] = f.line
		}
	}
	if n.Kind == unstable.KeyValue && n.Value().Kind == unstable.InlineTable {
		for entry := n.Value().Children(); entry.Next(); {
			f.add(path, entry.Node())
		}
	}
	return path
}

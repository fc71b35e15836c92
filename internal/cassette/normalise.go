package cassette

import (
	"cmp"
	"fmt"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// Placeholder stands for text that differs from run to run.
const Placeholder = "<normalised>"

// shortID is the length up to which an id is replaced only where it stands as an id: in other text "1" says nothing.
const shortID = 8

// Normaliser removes from events what differs between two runs of the same behaviour, so that live and replayed runs are
// judged on the same bytes. It remembers ids from turn to turn. What it has normalised it leaves as it is.
type Normaliser struct {
	paths    []path
	patterns []*regexp.Regexp
	keys     map[string]bool
	ids      map[string]string // by the agent's own id
	embedded []string          // those of ids that are long enough to be found inside other text, longest first
	counts   map[string]int    // by prefix
}

// path is a directory of one run and its name in all runs.
type path struct{ dir, name string }

// NewNormaliser returns a normaliser. Paths maps directories of the run to their names, such as "$WORKSPACE"; a
// directory is replaced under its resolved name, too. Matches of the patterns, and the values of the keys in tools' input
// and output, become [Placeholder].
func NewNormaliser(paths map[string]string, patterns []*regexp.Regexp, keys []string) *Normaliser {
	n := &Normaliser{
		patterns: patterns, keys: make(map[string]bool), ids: make(map[string]string), counts: make(map[string]int),
	}
	for _, k := range keys {
		n.keys[k] = true
	}
	for dir, name := range paths {
		n.paths = append(n.paths, path{dir, name})
		if resolved, err := filepath.EvalSymlinks(dir); err == nil && resolved != dir {
			n.paths = append(n.paths, path{resolved, name})
		}
	}
	slices.SortFunc(n.paths, func(a, b path) int {
		return cmp.Or(cmp.Compare(len(b.dir), len(a.dir)), strings.Compare(a.dir, b.dir))
	})
	return n
}

// Events returns the events of a turn, normalised.
func (n *Normaliser) Events(events []trajectory.Event) []trajectory.Event {
	for _, e := range events { // all ids first: text may mention a call before it is announced
		n.number(e.Body)
	}
	out := make([]trajectory.Event, len(events))
	for i, e := range events {
		body := n.copy(reflect.ValueOf(e.Body)).Interface().(trajectory.Body)
		e.Body = n.identify(body, e.Body)
		out[i] = e
	}
	return out
}

// number gives the ids of an event their numbers, in the order in which they appear.
func (n *Normaliser) number(b trajectory.Body) {
	switch b := b.(type) {
	case trajectory.ToolStart:
		n.rename("c", b.ID)
	case trajectory.ToolEnd:
		n.rename("c", b.ID)
	case trajectory.Permission:
		n.rename("c", b.ID)
	case trajectory.Terminal:
		n.rename("t", b.ID)
	}
}

// identify sets the id of a copied event by that of the original.
func (n *Normaliser) identify(to, from trajectory.Body) trajectory.Body {
	switch to := to.(type) {
	case trajectory.ToolStart:
		to.ID = n.ids[from.(trajectory.ToolStart).ID]
		return to
	case trajectory.ToolEnd:
		to.ID = n.ids[from.(trajectory.ToolEnd).ID]
		return to
	case trajectory.Permission:
		to.ID = n.ids[from.(trajectory.Permission).ID]
		return to
	case trajectory.Terminal:
		to.ID = n.ids[from.(trajectory.Terminal).ID]
		return to
	}
	return to
}

var numbered = regexp.MustCompile(`^[ct]\d+$`)

func (n *Normaliser) rename(prefix, id string) {
	if _, known := n.ids[id]; known || id == "" {
		return
	}
	if numbered.MatchString(id) {
		n.ids[id] = id
		return
	}
	n.counts[prefix]++
	n.ids[id] = fmt.Sprintf("%s%d", prefix, n.counts[prefix])
	if len(id) > shortID {
		n.embedded = append(n.embedded, id)
		slices.SortFunc(n.embedded, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
}

// copy returns v with every string in it normalised.
func (n *Normaliser) copy(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		return reflect.ValueOf(n.text(v.String())).Convert(v.Type())
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		c := n.copy(v.Elem())
		if v.Kind() == reflect.Interface {
			return c
		}
		p := reflect.New(v.Type().Elem())
		p.Elem().Set(c)
		return p
	case reflect.Struct:
		c := reflect.New(v.Type()).Elem()
		for i := range v.NumField() {
			c.Field(i).Set(n.copy(v.Field(i)))
		}
		return c
	case reflect.Slice:
		if v.IsNil() {
			return v
		}
		c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			if item := n.copy(v.Index(i)); item.IsValid() {
				c.Index(i).Set(item)
			}
		}
		return c
	case reflect.Map:
		return n.copyMap(v)
	}
	return v
}

func (n *Normaliser) copyMap(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	c := reflect.MakeMapWithSize(v.Type(), v.Len())
	for it := v.MapRange(); it.Next(); {
		key, value := n.copy(it.Key()), it.Value()
		if n.keys[it.Key().String()] {
			value = reflect.ValueOf(Placeholder)
		} else if value = n.copy(value); !value.IsValid() {
			value = reflect.Zero(v.Type().Elem())
		}
		c.SetMapIndex(key, value)
	}
	return c
}

// text normalises one string.
func (n *Normaliser) text(s string) string {
	for _, id := range n.embedded {
		s = strings.ReplaceAll(s, id, n.ids[id])
	}
	for _, p := range n.paths {
		s = replacePath(s, p.dir, p.name)
	}
	for _, p := range n.patterns {
		s = p.ReplaceAllLiteralString(s, Placeholder)
	}
	return s
}

// replacePath replaces dir where it stands as a whole path or as the beginning of one: /tmp/ws is not /tmp/ws2.
func replacePath(s, dir, name string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, dir)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		end := i + len(dir)
		b.WriteString(s[:i])
		if goesOn(s[end:]) {
			b.WriteString(dir)
		} else {
			b.WriteString(name)
		}
		s = s[end:]
	}
}

// goesOn reports whether what follows a path makes it the name of something else.
func goesOn(rest string) bool {
	if rest != "" && (rest[0] == '.' || rest[0] == '-') { // the end of a sentence, or a part of the name
		rest = rest[1:]
	}
	if rest == "" {
		return false
	}
	c := rest[0]
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c >= 0x80
}

package cassette

import (
	"cmp"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
)

// Placeholder stands for text that differs from run to run.
const Placeholder = "<normalised>"

// shortID is the length in bytes up to which an id is replaced only in the fields for ids: in other text, "1" need not
// be an id.
const shortID = 8

// contextUsed is the volatile key that stands for the size of the context.
const contextUsed = "context_used"

// idKeys are the protocol's keys whose values are ids, with the prefix of their numbers.
var idKeys = map[string]string{
	"sessionId": "s", "session_id": "s", "messageId": "m", "message_id": "m", "toolCallId": "c", "tool_call_id": "c",
	"terminalId": "t", "terminal_id": "t",
}

// Normaliser removes from events what differs between two runs of the same behaviour, so that live and replayed runs
// are judged on the same bytes: directories get names, ids get numbers in the order in which they appear, matches of
// the playbook's patterns become [Placeholder], and turns that were cut short lose the size of the context. Prompts
// stay as they are: a replay compares them with the playbook's. Normalising events again changes nothing, unless
// patterns or rules were added.
//
// Its methods may be called concurrently.
type Normaliser struct {
	dirs     []namedDir // longest first
	slugs    []namedDir // dirs as the name of one file
	given    []namedDir // dirs without the resolved names of symbolic links
	patterns []*regexp.Regexp
	volatile map[string]bool

	mu     sync.Mutex
	ids    map[id]string
	long   []longID         // the ids that are replaced in all text, in the order in which they appeared
	index  idIndex          // of long
	counts map[string]int   // of ids, by prefix
	cut    map[int]bool     // turns that were cut short
	state  trajectory.State // the last reported one, without the size of the context
	// numbered says that the events come from a recording, where ids are numbers already. They are kept.
	numbered bool
}

// id is an id that an agent has given, with the prefix of our number for it, which tells kinds of ids apart.
type id struct{ prefix, own string }

// namedDir is a directory of one run and its name in all runs.
type namedDir struct{ dir, name string }

// NewNormaliser returns a normaliser for one session, which remembers ids from turn to turn. Paths maps absolute
// directories of the run to their names, such as "$WORKSPACE"; a directory is replaced under its resolved name, too.
// The values of the volatile keys become [Placeholder] wherever they stand in tools' input and output; if context_used
// is one of them, states lose the size of the context.
func NewNormaliser(paths map[string]string, patterns []*regexp.Regexp, volatile []string) *Normaliser {
	n := &Normaliser{
		patterns: patterns, volatile: make(map[string]bool), ids: make(map[id]string), counts: make(map[string]int),
		cut: make(map[int]bool),
	}
	for _, key := range volatile {
		n.volatile[key] = true
	}
	for dir, name := range paths {
		if filepath.IsAbs(dir) {
			n.addDir(dir, name)
		}
	}
	n.given = slices.Clone(n.dirs)
	for _, d := range n.given {
		if resolved, err := filepath.EvalSymlinks(d.dir); err == nil {
			n.addDir(resolved, d.name)
		}
	}
	n.sortDirs()
	return n
}

// sortDirs puts the longest first.
func (n *Normaliser) sortDirs() {
	slices.SortFunc(n.dirs, func(a, b namedDir) int {
		return cmp.Or(cmp.Compare(len(b.dir), len(a.dir)), strings.Compare(a.dir, b.dir))
	})
	n.slugs = n.slugs[:0]
	for _, d := range n.dirs {
		n.slugs = append(n.slugs, namedDir{slug(d.dir), slug(d.name)})
	}
}

// slug returns a directory as Claude Code names its own files about it: "-src-shop" for /src/shop.
func slug(dir string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf && isWord(r) {
			return r
		}
		return '-'
	}, dir)
}

// slugStarts reports whether the name of a file begins after this text.
func slugStarts(before string) bool { return strings.HasSuffix(before, "/") }

// addDir adds a directory unless it is the root.
func (n *Normaliser) addDir(dir, name string) {
	d := namedDir{strings.TrimRight(dir, `/\`), name}
	if d.dir != "" && !slices.Contains(n.dirs, d) {
		n.dirs = append(n.dirs, d)
	}
}

// Also has another directory of this run replaced by a name, one that an agent does not know it by:
// [Normaliser.Restore] does not give it. It is called before the first use.
func (n *Normaliser) Also(dir, name string) {
	n.addDir(dir, name)
	n.sortDirs()
}

// Session adds the session's id, which agents put into names of files, for example.
func (n *Normaliser) Session(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.number("s", id)
	n.index = newIDIndex(n.long)
}

// Events returns the events of a turn, normalised. Their times are cut to microseconds, which is what a cassette keeps.
func (n *Normaliser) Events(events []trajectory.Event) []trajectory.Event {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, e := range events { // all ids first: text may mention a call before it is announced
		n.collect(e.Body)
		n.cut[e.Turn] = n.cut[e.Turn] || isCut(e)
	}
	n.index = newIDIndex(n.long)
	out := make([]trajectory.Event, 0, len(events))
	for _, e := range events {
		e.At = e.At.Truncate(time.Microsecond)
		e.Body = n.body(e.Body)
		if s, ok := e.Body.(trajectory.State); ok {
			if s, ok = n.reported(s, n.cut[e.Turn]); !ok {
				continue
			}
			e.Body = s
		}
		out = append(out, e)
	}
	return out
}

// reported returns the state that an agent reported in a turn, and whether to keep it. If the turn was cut short, the
// state loses the size of the context: agents report it after the model's answer, so it may have come late or never.
func (n *Normaliser) reported(s trajectory.State, cut bool) (trajectory.State, bool) {
	if n.volatile[contextUsed] {
		s.ContextUsed = nil
	}
	before, now := n.state, s
	now.ContextUsed, now.ContextSize = nil, nil
	n.state = now
	if cut {
		return now, !reflect.DeepEqual(now, before)
	}
	return s, true
}

// isCut reports whether an event is the end of a turn that was cut short, by a limit or by being cancelled.
func isCut(e trajectory.Event) bool {
	stop, ok := e.Body.(trajectory.Stop)
	return ok && !slices.Contains([]string{"end_turn", "max_tokens", "max_turn_requests", "refusal"}, stop.Reason)
}

// Value returns a copy of v, decoded JSON or the body of an event, with every string in it normalised. It replaces the
// ids of earlier turns only, not those of the current turn.
func (n *Normaliser) Value(v any) any {
	if v == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.normalised(v, false)
}

// collect numbers the ids of an event.
func (n *Normaliser) collect(b trajectory.Body) {
	switch b := b.(type) {
	case trajectory.ToolStart:
		n.number("c", b.Parent)
		n.number("c", b.ID)
	case trajectory.ToolEnd:
		n.number("c", b.ID)
	case trajectory.Permission:
		n.number("c", b.ID)
	case trajectory.Terminal:
		n.number("t", b.ID)
	case trajectory.Notice:
		n.collectKeys(b.Data)
	}
}

// collectKeys numbers the ids in raw data of the protocol.
func (n *Normaliser) collectKeys(data any) {
	switch data := data.(type) {
	case []any:
		for _, v := range data {
			n.collectKeys(v)
		}
	case map[string]any:
		for _, key := range sortedKeys(reflect.ValueOf(data)) {
			v := data[key.String()]
			if own, ok := v.(string); ok && idKeys[key.String()] != "" {
				n.number(idKeys[key.String()], own)
			}
			n.collectKeys(v)
		}
	}
}

func (n *Normaliser) number(prefix, own string) {
	name := id{prefix, own}
	if _, known := n.ids[name]; known || own == "" {
		return
	}
	if n.numbered {
		n.ids[name] = own
		return
	}
	n.counts[prefix]++
	n.ids[name] = prefix + strconv.Itoa(n.counts[prefix])
	if len(own) > shortID {
		n.long = append(n.long, longID{own: own, name: n.ids[name]})
	}
}

// body returns a copy of b, normalised.
func (n *Normaliser) body(b trajectory.Body) trajectory.Body {
	if _, ok := b.(trajectory.Prompt); ok {
		return b
	}
	_, isNotice := b.(trajectory.Notice)
	normal := n.normalised(b, isNotice).(trajectory.Body)
	switch b := b.(type) { // fields for ids: replace short ids, too
	case trajectory.ToolStart:
		to := normal.(trajectory.ToolStart)
		to.ID, to.Parent = n.ids[id{"c", b.ID}], n.ids[id{"c", b.Parent}]
		return to
	case trajectory.ToolEnd:
		to := normal.(trajectory.ToolEnd)
		to.ID = n.ids[id{"c", b.ID}]
		return to
	case trajectory.Permission:
		to := normal.(trajectory.Permission)
		to.ID = n.ids[id{"c", b.ID}]
		return to
	case trajectory.Terminal:
		to := normal.(trajectory.Terminal)
		to.ID = n.ids[id{"t", b.ID}]
		return to
	}
	return normal
}

// normalised returns a copy of v with every string in it normalised, except the protocol's own words: a stop reason,
// say, does not differ from run to run, even if a pattern matches it.
func (n *Normaliser) normalised(v any, asSent bool) any {
	normal := copier{n, asSent}.copy(reflect.ValueOf(v)).Interface()
	switch v := v.(type) {
	case trajectory.ToolStart:
		to := normal.(trajectory.ToolStart)
		to.Kind = v.Kind
		return to
	case trajectory.Permission:
		to := normal.(trajectory.Permission)
		for i, o := range v.Options {
			to.Options[i].Kind = o.Kind
		}
		if v.Decision == "cancelled" {
			to.Decision = v.Decision
		}
		return to
	case trajectory.Plan:
		to := normal.(trajectory.Plan)
		for i, e := range v.Entries {
			to.Entries[i].Status, to.Entries[i].Priority = e.Status, e.Priority
		}
		return to
	case trajectory.Stop:
		to := normal.(trajectory.Stop)
		to.Reason = v.Reason
		return to
	case trajectory.Notice:
		to := normal.(trajectory.Notice)
		to.Name = v.Name
		return to
	}
	return normal
}

// text normalises one string and makes it valid UTF-8, which JSON needs. It repeats until nothing changes: what a
// pattern leaves may be a path, or match another pattern.
func (n *Normaliser) text(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	for {
		before := s
		s = n.index.replace(s)
		for _, d := range n.dirs {
			s = replaceWhole(s, d.dir, d.name, pathStarts, pathEnds)
		}
		for _, d := range n.slugs {
			s = replaceWhole(s, d.dir, d.name, slugStarts, pathEnds)
		}
		for _, p := range n.patterns {
			s = foldMatches(s, p)
		}
		if s == before {
			return s
		}
	}
}

// copier copies a value with every string in it normalised, by reflection, so that no field of an event is forgotten.
type copier struct {
	*Normaliser
	asSent bool // raw data of the protocol, in which idKeys have ids
}

var stringType = reflect.TypeFor[string]()

func (n copier) copy(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != stringType { // a json.Number or a value of an enumeration
			return v
		}
		return reflect.ValueOf(n.text(v.String()))
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return v
		}
		c := reflect.New(v.Type()).Elem()
		if v.Kind() == reflect.Pointer {
			c.Set(reflect.New(v.Type().Elem()))
			c.Elem().Set(n.copy(v.Elem()))
		} else {
			c.Set(n.copy(v.Elem()))
		}
		return c
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
			c.Index(i).Set(n.copy(v.Index(i)))
		}
		return c
	case reflect.Map:
		return n.copyMap(v)
	}
	return v
}

// copyMap copies a map. It adds a number to keys that would become equal.
func (n copier) copyMap(v reflect.Value) reflect.Value {
	if v.IsNil() {
		return v
	}
	c := reflect.MakeMapWithSize(v.Type(), v.Len())
	for _, key := range sortedKeys(v) {
		name := n.name(v, key.String())
		to := name
		for i := 2; c.MapIndex(reflect.ValueOf(to)).IsValid(); i++ {
			to = name + "#" + strconv.Itoa(i)
		}
		value := n.copy(v.MapIndex(key))
		if n.volatile[key.String()] {
			value = reflect.ValueOf(Placeholder)
		} else if own, ok := v.MapIndex(key).Interface().(string); ok && n.asSent && idKeys[key.String()] != "" {
			value = reflect.ValueOf(n.ids[id{idKeys[key.String()], own}])
		}
		c.SetMapIndex(reflect.ValueOf(to), value)
	}
	return c
}

// name returns what a key of a map becomes. A number that copyMap added in an earlier pass stays.
func (n copier) name(v reflect.Value, key string) string {
	if n.asSent && idKeys[key] != "" {
		return key
	}
	if i := strings.LastIndexByte(key, '#'); i >= 0 && v.MapIndex(reflect.ValueOf(key[:i])).IsValid() {
		if _, err := strconv.ParseUint(key[i+1:], 10, 0); err == nil {
			return n.text(key[:i]) + key[i:]
		}
	}
	return n.text(key)
}

// sortedKeys returns the keys of a map, which are strings.
func sortedKeys(v reflect.Value) []reflect.Value {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	return keys
}

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

// shortID is the length in bytes up to which an id is replaced only where it stands as an id: in other text "1" says
// nothing.
const shortID = 8

// idKeys are the keys whose values the protocol has as ids, with the prefix of their numbers.
var idKeys = map[string]string{
	"sessionId": "s", "session_id": "s", "messageId": "m", "message_id": "m", "toolCallId": "c", "tool_call_id": "c",
	"terminalId": "t", "terminal_id": "t",
}

// Normaliser removes from events what differs between two runs of the same behaviour, so that live and replayed runs are
// judged on the same bytes: directories get names, ids get numbers in the order in which they appear, matches of the
// playbook's patterns become [Placeholder], and a turn that was cut short does not tell how full the context was. Prompts
// stay as they are: they are the playbook's own words, to which they are held in replay. [Migrate] normalises once more, which
// changes nothing unless there is more to remove now.
//
// Its methods may be called concurrently.
type Normaliser struct {
	dirs     []namedDir // longest first
	given    []namedDir // those of dirs that are no resolved names of others
	patterns []*regexp.Regexp
	volatile map[string]bool

	mu     sync.Mutex
	ids    map[id]string
	long   []longID         // those of ids that are replaced in other text, by their appearance
	index  idIndex          // of long
	counts map[string]int   // ids by prefix
	cut    map[int]bool     // turns that were cut short
	state  trajectory.State // the last that was reported, without its context
	// numbered tells that ids are numbers already, as those in a recording are, and stay what they are.
	numbered bool
}

// id is an agent's own name for something. The prefix of ours tells ids of different things apart.
type id struct{ prefix, own string }

// namedDir is a directory of one run and its name in all runs.
type namedDir struct{ dir, name string }

// NewNormaliser returns a normaliser for one session, which remembers ids from turn to turn. Paths maps absolute
// directories of the run to their names, such as "$WORKSPACE"; a directory is replaced under its resolved name, too. The
// values of the volatile keys become [Placeholder] wherever they stand in tools' input and output.
func NewNormaliser(paths map[string]string, patterns []*regexp.Regexp, volatile []string) *Normaliser {
	n := &Normaliser{
		patterns: patterns, volatile: make(map[string]bool), ids: make(map[id]string), counts: make(map[string]int), cut: make(map[int]bool),
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
	slices.SortFunc(n.dirs, func(a, b namedDir) int {
		return cmp.Or(cmp.Compare(len(b.dir), len(a.dir)), strings.Compare(a.dir, b.dir))
	})
	return n
}

// addDir adds a directory unless it is that of everything.
func (n *Normaliser) addDir(dir, name string) {
	d := namedDir{strings.TrimRight(dir, `/\`), name}
	if d.dir != "" && !slices.Contains(n.dirs, d) {
		n.dirs = append(n.dirs, d)
	}
}

// Session tells the session's id, which agents put into the names of files and the like.
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

// reported returns what counts of a state that an agent reported in a turn, and whether anything does. Agents tell how
// full the context is when the model's answer has ended, and where the turn was cut short that may be after it, or never.
func (n *Normaliser) reported(s trajectory.State, cut bool) (trajectory.State, bool) {
	before, now := n.state, s
	now.ContextUsed, now.ContextSize = nil, nil
	n.state = now
	if cut {
		return now, !reflect.DeepEqual(now, before)
	}
	return s, true
}

// isCut reports whether an event is the end of a turn that the agent did not bring to one: a limit did, or who cancelled it.
func isCut(e trajectory.Event) bool {
	stop, ok := e.Body.(trajectory.Stop)
	return ok && !slices.Contains([]string{"end_turn", "max_tokens", "max_turn_requests", "refusal"}, stop.Reason)
}

// Value returns a copy of v, decoded JSON or the body of an event, with every string in it normalised. It knows the ids of
// the turns before, and of the turn that goes on none.
func (n *Normaliser) Value(v any) any {
	if v == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.normalised(v, false)
}

// collect gives numbers to the ids of an event.
func (n *Normaliser) collect(b trajectory.Body) {
	switch b := b.(type) {
	case trajectory.ToolStart:
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

// collectKeys gives numbers to the ids in what an agent sent as it came.
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
	switch b := b.(type) { // short ids, too
	case trajectory.ToolStart:
		to := normal.(trajectory.ToolStart)
		to.ID = n.ids[id{"c", b.ID}]
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

// normalised returns a copy of v with every string in it normalised, but for the protocol's own words: what a turn came to, say,
// is nothing that differs from run to run, whatever a pattern matches.
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

// text normalises one string, which becomes valid UTF-8, as JSON has to be. It goes on until nothing changes: what a
// pattern leaves may be a path, or match another pattern.
func (n *Normaliser) text(s string) string {
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	for {
		before := s
		s = n.index.replace(s)
		for _, d := range n.dirs {
			s = replaceWhole(s, d.dir, d.name, pathStarts, pathEnds)
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
	asSent bool // keys are those of the protocol
}

var stringType = reflect.TypeFor[string]()

func (n copier) copy(v reflect.Value) reflect.Value {
	switch v.Kind() {
	case reflect.String:
		if v.Type() != stringType { // a json.Number or one of our own words
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

// copyMap copies a map. Keys that become equal are told apart by a number behind them.
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

// name returns what a key of a map becomes. What told it from another key before stays.
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

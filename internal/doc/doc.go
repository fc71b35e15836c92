// Package doc reads a YAML file into a tree whose nodes know their positions, and decodes the tree strictly into Go
// values. It knows no playbooks: what their keys mean is package plan's. Every problem has a position and a path, and
// all problems of a file are reported at once:
//
//	d := doc.Parse("demo.yaml", data)
//	var v struct {
//		Name  string `yaml:"name,required" doc:"What to call it."`
//		Count int    `yaml:"count" default:"1" min:"1" doc:"How often."`
//	}
//	d.Root.Decode(&v)
//	if err := d.Err(); err != nil {
//		return err // demo.yaml:3:1: nmae: unknown key, did you mean "name"?
//	}
//
// The YAML that it accepts is limited to what JSON can express, plus comments, anchors and all kinds of quoting: true
// and false are the only booleans, numbers are decimal, keys are strings, and there are no tags and merge keys, though
// [ParseMerging] follows those. Anything that YAML 1.1 and 1.2 read differently, or that looks like a number but is not
// one in JSON, is a problem.
package doc

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Kind is the kind of a node's value.
type Kind uint8

// The kinds of nodes.
const (
	// Invalid nodes had a problem when they were read. Decoding ignores them.
	Invalid Kind = iota
	Null
	Bool
	Number
	String
	List
	Map
)

func (k Kind) String() string {
	return [...]string{"invalid", "null", "a boolean", "a number", "a string", "a list", "a mapping"}[k]
}

// Document is a YAML file as a tree, and the problems found in it.
type Document struct {
	// Root is nil if the file is not YAML. The methods of a nil node do nothing.
	Root *Node

	// Text is the text that was parsed.
	Text []byte

	// Dir is the file's directory, absolute; empty: the text did not come from a file. Top is Dir or a directory above
	// it, below which all files that the text names must be; empty: Dir. Both are for decoders.
	Dir, Top string

	// Untrusted means that files outside of Top are not to be read for the text. It is for decoders.
	Untrusted bool

	// Files are the files that the text names, absolute, as decoders find them.
	Files []string

	file     string
	problems Problems
	notes    []string
	reported int // number of reports, including repeated ones
	handlers handlers
	refused  map[string]string
}

// Refuse sets the reasons that are reported for some unknown keys in place of "unknown key". The keys of the map are
// paths in which lists have empty indexes: "limits.max_tokens", "cases[].name".
func (d *Document) Refuse(reasons map[string]string) { d.refused = reasons }

// Node is a value in a [Document].
type Node struct {
	doc  *Document
	kind Kind
	path string
	pos  Position // of the value
	key  Position // of the key if the value is in a mapping, else of the value

	text    string // of a scalar; numbers are as in JSON
	items   []*Node
	entries []Entry
	flawed  bool     // there was a problem with it, or with something in it, when it was read
	hidden  []string // keys that [Node.Without] has removed from entries
}

// Document returns the document of the node, nil for a nil node.
func (n *Node) Document() *Document {
	if n == nil {
		return nil
	}
	return n.doc
}

// Entry is a key of a mapping with its value.
type Entry struct {
	Key      string
	Position Position // of the key
	Value    *Node
}

// Kind returns what the node holds, Invalid for nil.
func (n *Node) Kind() Kind {
	if n == nil {
		return Invalid
	}
	return n.kind
}

// Position returns where the node's entry begins: the key of a value in a mapping, else the value itself.
func (n *Node) Position() Position {
	if n == nil {
		return Position{}
	}
	return n.key
}

// Path returns the node's place in the tree, e.g. `cases[0].files["a.go"]`, "" for the root.
func (n *Node) Path() string {
	if n == nil {
		return ""
	}
	return n.path
}

// Text returns a string's text, and the text in the file for other scalars.
func (n *Node) Text() string {
	if n == nil {
		return ""
	}
	return n.text
}

// Items returns the elements of a list, nil for other kinds.
func (n *Node) Items() []*Node {
	if n == nil {
		return nil
	}
	return n.items
}

// Entries returns the entries of a mapping in the order of the file, nil for other kinds.
func (n *Node) Entries() []Entry {
	if n == nil {
		return nil
	}
	return n.entries
}

// Get returns the value of a key, nil if the node is not a mapping that has it.
func (n *Node) Get(key string) *Node {
	for _, e := range n.Entries() {
		if e.Key == key {
			return e.Value
		}
	}
	return nil
}

// Without returns the mapping without some of its keys. Decode does not see them, but suggests them for misspelled
// keys.
func (n *Node) Without(keys ...string) *Node {
	view := *n
	view.entries = nil
	view.hidden = append(view.hidden[:len(view.hidden):len(view.hidden)], keys...)
entries:
	for _, e := range n.entries {
		for _, k := range keys {
			if e.Key == k {
				continue entries
			}
		}
		view.entries = append(view.entries, e)
	}
	return &view
}

// With returns the mapping with another value of a key, which comes last if the mapping did not have it.
func (n *Node) With(key string, value *Node) *Node {
	view := *n
	view.entries = slices.Clone(n.entries)
	for i, e := range view.entries {
		if e.Key == key {
			view.entries[i].Value = value
			return &view
		}
	}
	view.entries = append(view.entries, Entry{key, value.Position(), value})
	return &view
}

// Merge returns the node with what over says besides and instead: mappings are merged key by key, and anything else of
// over takes the place of what n has. The elements of lists at these paths, such as "env.pass", come after those of n.
// Where both have a key, its position is that in over.
func (n *Node) Merge(over *Node, lists ...string) *Node { return n.merge(over, "", lists) }

func (n *Node) merge(over *Node, at string, lists []string) *Node {
	if n == nil || over == nil {
		return cmp.Or(over, n)
	}
	merged := *over
	merged.flawed = n.flawed || over.flawed
	switch {
	case n.kind == Map && over.kind == Map:
		merged.entries = nil
		for _, e := range n.entries {
			if own := over.Get(e.Key); own != nil {
				e.Position, e.Value = own.key, e.Value.merge(own, join(at, e.Key), lists)
			}
			merged.entries = append(merged.entries, e)
		}
		for _, e := range over.entries {
			if n.Get(e.Key) == nil {
				merged.entries = append(merged.entries, e)
			}
		}
	case n.kind == List && over.kind == List && slices.Contains(lists, at):
		merged.items = slices.Concat(n.items, over.items)
	}
	return &merged
}

// Texts returns a list of texts in the place of the node. Without texts, decoding ignores it: why there are none has
// been reported.
func (n *Node) Texts(texts ...string) *Node {
	list := &Node{doc: n.doc, path: n.path, pos: n.pos, key: n.key, kind: List}
	if len(texts) == 0 {
		list.kind, list.flawed = Invalid, true
	}
	for i, text := range texts {
		list.items = append(list.items, &Node{
			doc: n.doc, path: n.path + "[" + strconv.Itoa(i) + "]", pos: n.pos, key: n.key, kind: String, text: text,
		})
	}
	return list
}

// Value returns the node as encoding/json would decode it: map[string]any, []any, string, json.Number, bool or nil.
func (n *Node) Value() any {
	switch n.Kind() {
	case Bool:
		return n.text == "true"
	case Number:
		return json.Number(n.text)
	case String:
		return n.text
	case List:
		list := make([]any, len(n.items))
		for i, item := range n.items {
			list[i] = item.Value()
		}
		return list
	case Map:
		m := make(map[string]any, len(n.entries))
		for _, e := range n.entries {
			m[e.Key] = e.Value.Value()
		}
		return m
	default:
		return nil
	}
}

// Errorf reports a problem with the node at path, which is relative to n and has the form of [Node.Path]; "" is n
// itself. If there is no such node, the problem has the position of its nearest ancestor.
func (n *Node) Errorf(path, format string, args ...any) {
	if n == nil {
		return
	}
	at := n
	for rest := path; rest != ""; {
		child, after := at.step(rest)
		if child == nil {
			break
		}
		at, rest = child, after
	}
	n.doc.report(at.valuePosition(), join(n.path, path), fmt.Sprintf(format, args...))
}

// Notef notes something about the node that is no problem but may be a mistake. See [Document.Notes].
func (n *Node) Notef(format string, args ...any) {
	if n == nil {
		return
	}
	note := fmt.Sprintf("%s: note: %s: %s", n.valuePosition(), n.path, fmt.Sprintf(format, args...))
	if d := n.doc; !slices.Contains(d.notes, note) && len(d.notes) < maxProblems {
		d.notes = append(d.notes, note)
	}
}

// Notes returns what [Node.Notef] noted: lines for people, "file:line: note: path: text".
func (d *Document) Notes() []string { return d.notes }

// valuePosition returns the position of a problem with the node's value: that of the value or, for mappings and lists,
// that of the key.
func (n *Node) valuePosition() Position {
	if n.kind == Map || n.kind == List {
		return n.key
	}
	return n.pos
}

// step returns the child that the first element of a relative path names, and the rest of the path.
func (n *Node) step(path string) (*Node, string) {
	for i, item := range n.items {
		if rest, ok := cutElement(path, "["+strconv.Itoa(i)+"]"); ok {
			return item, rest
		}
	}
	for _, e := range n.entries {
		if rest, ok := cutElement(path, join("", pathKey(e.Key))); ok {
			return e.Value, rest
		}
	}
	return nil, path
}

func cutElement(path, element string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(path, element)
	if !ok || rest != "" && rest[0] != '.' && rest[0] != '[' {
		return path, false
	}
	return strings.TrimPrefix(rest, "."), true
}

// pathKey returns a key as an element of a path, in brackets if it could be misread without.
func pathKey(key string) string {
	if key == "" || strings.ContainsFunc(key,
		func(r rune) bool { return r <= ' ' || strings.ContainsRune(`.[]"'`, r) }) {
		return "[" + strconv.Quote(key) + "]"
	}
	return key
}

// join appends an element or a relative path to a path.
func join(path, element string) string {
	if path == "" || element == "" || element[0] == '[' {
		return path + element
	}
	return path + "." + element
}

// Position is a position in a file. The zero value is none.
type Position struct {
	File string
	// Line and Column count from 1; columns are characters.
	Line, Column int
}

// String returns "file:line", the form in which failures cite a playbook.
func (p Position) String() string { return fmt.Sprintf("%s:%d", p.File, p.Line) }

// Problem is one thing that is wrong with a file.
type Problem struct {
	Position Position
	// Path is the path in the tree, e.g. "cases[0].id"; empty for the file as a whole.
	Path string
	// Reason says what is wrong and, if known, what would be right.
	Reason string
}

// Error returns "file:line:column: path: reason".
func (p Problem) Error() string {
	at := p.Position.String()
	if p.Position.Column > 0 { // a place in Go has none
		at += fmt.Sprintf(":%d", p.Position.Column)
	}
	if p.Path == "" {
		return at + ": " + p.Reason
	}
	return at + ": " + p.Path + ": " + p.Reason
}

// Problems are all problems of a file, in the order of the file.
type Problems []Problem

// Error returns a line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

// maxProblems is how many problems of one file are reported.
const maxProblems = 200

// report adds a problem unless it was added before.
func (d *Document) report(pos Position, path, reason string) {
	d.reported++
	p := Problem{Position: pos, Path: path, Reason: reason}
	if slices.Contains(d.problems, p) {
		return
	}
	switch {
	case len(d.problems) < maxProblems:
		d.problems = append(d.problems, p)
	case len(d.problems) == maxProblems:
		p.Path, p.Reason = "", "too many problems, the rest is not shown"
		d.problems = append(d.problems, p)
	}
}

// Err returns the [Problems] reported so far, sorted by position, nil if there are none.
func (d *Document) Err() error {
	if len(d.problems) == 0 {
		return nil
	}
	ps := slices.Clone(d.problems)
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Position.Line, b.Position.Line), cmp.Compare(a.Position.Column, b.Position.Column))
	})
	return Problems(ps)
}

// Unplaced returns [Problems] without their positions, for values that are not in a file. It returns other errors as
// they are.
func Unplaced(err error) error {
	problems, ok := errors.AsType[Problems](err)
	if !ok {
		return err
	}
	var all []error
	for _, p := range problems {
		all = append(all, errors.New(strings.TrimPrefix(p.Path+": "+p.Reason, ": ")))
	}
	return errors.Join(all...)
}

// DidYouMean returns `, did you mean "x"?` with the candidate x that is most like word. It returns "" if in all
// candidates more than one character in three differs.
func DidYouMean(word string, candidates []string) string {
	best, least := "", -1
	for _, c := range candidates {
		d := distance(fold(word), fold(c))
		if d <= min(len(word), len(c))/3 && (least < 0 || d < least) {
			best, least = c, d
		}
	}
	if least < 0 {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// fold returns the same text for words that differ only by case or by "-" in place of "_".
func fold(s string) string {
	return strings.ReplaceAll(strings.ToLower(s), "-", "_")
}

// distance returns the number of insertions, deletions, replacements and swaps of neighbours that turn a into b
// (optimal string alignment). If a word is longer than 64 bytes, it returns the largest possible distance.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return max(len(a), len(b))
	}
	var rows [65][65]int
	for i := range len(a) + 1 {
		rows[i][0] = i
	}
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := rows[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			d := min(rows[i-1][j]+1, rows[i][j-1]+1, replace)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d = min(d, rows[i-2][j-2]+1)
			}
			rows[i][j] = d
		}
	}
	return rows[len(a)][len(b)]
}

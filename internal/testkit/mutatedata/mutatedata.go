// Package mutatedata changes files of JSON lines in small ways, one at a time, for tests that hold: what was changed
// is not judged as if it was not. It knows how recordings are sealed with checksums, so that a change can be made with
// them computed anew, and nothing else of what lines mean.
package mutatedata

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// Mutant is a changed file.
type Mutant struct {
	// Kind is what was done, e.g. [Dropped].
	Kind string
	// Key is what it was done to: "event stop: usage.input" is a key of a line, "event stop" a line, "" the file.
	Key string
	// Line is where, from 1; 0: the file.
	Line int
	// Now is what stands there now, for people.
	Now string
	// Sealed says that the checksums were computed anew.
	Sealed bool
	// Gzip says that the file is to have the name of a compressed one.
	Gzip bool

	data func() []byte
}

// Data returns the file's bytes.
func (m Mutant) Data() []byte { return m.data() }

func (m Mutant) String() string {
	seal := ""
	if m.Sealed {
		seal = ", sealed"
	}
	return fmt.Sprintf("line %d: %s %s%s: %.300s", m.Line, m.Key, m.Kind, seal, m.Now)
}

// What is done to keys and values.
const (
	Dropped     = "dropped"
	Doubled     = "doubled"
	DoubledWith = "doubled with another value" // before or behind it
	OtherCase   = "in another case"
	Twin        = "doubled in another case" // with another value
	Renamed     = "renamed"
	Null        = "null"
	OtherType   = "of another type"
	Emptied     = "emptied"
	Changed     = "changed"
	Reordered   = "reordered" // keys of an object
)

// What is done to lines and files.
const (
	LineDropped = "line dropped"
	LineDoubled = "line doubled"
	LinesSwap   = "line swapped with the next"
	LineCut     = "line cut"
	LinesJoined = "line joined with the next"
	LineAdded   = "line added before"
	FileCut     = "file cut"
	FileTwice   = "file twice"
	FileBytes   = "file's bytes changed"
	FileZipped  = "file compressed"
	FileZipBad  = "file compressed and damaged"
)

// Seal computes the checksums in a file's lines anew. Moved says that there are other lines than there were.
type Seal func(lines [][]byte, moved bool) [][]byte

// All returns all mutants of a file, which has JSON lines, in a fixed order. Those of lines and keys come twice, the
// second time sealed, unless seal is nil.
func All(data []byte, seal Seal) []Mutant {
	f := file{seal: seal, seen: make(map[string][]string)}
	for line := range bytes.Lines(data) {
		f.lines = append(f.lines, slices.Clone(line))
		f.trees = append(f.trees, parse(line))
	}
	for _, tree := range f.trees {
		f.collect(label(tree)+": ", tree)
	}
	for i := range f.lines {
		f.mutateLine(i)
		f.mutateLines(i)
	}
	f.mutateFile(data)
	return f.mutants
}

// Sample returns n of the mutants, the same ones for the same seed, in their order; all of them if n is 0.
func Sample(all []Mutant, n int, seed uint64) []Mutant {
	if n == 0 || n >= len(all) {
		return all
	}
	places := rand.New(rand.NewPCG(seed, 0)).Perm(len(all))[:n]
	slices.Sort(places)
	sample := make([]Mutant, n)
	for i, at := range places {
		sample[i] = all[at]
	}
	return sample
}

// file is a file that is mutated.
type file struct {
	lines   [][]byte
	trees   []*node
	seal    Seal
	seen    map[string][]string // values by key
	mutants []Mutant
}

// label names the kind of a line by its first key, with its value if that is a word, and with that of `method`.
func label(n *node) string {
	if n.open != '{' || len(n.keys) == 0 {
		return n.kind()
	}
	key := unquoted(n.keys[0])
	if first := n.items[0]; first.kind() == "string" {
		if text := unquoted(first.scalar); len(text) < 20 {
			key += " " + text
		}
	}
	if m := n.get("method"); m != nil && m.kind() == "string" {
		key += " " + unquoted(m.scalar)
	}
	return key
}

// collect remembers which values each key has.
func (f *file) collect(path string, n *node) {
	if n.open == 0 && !slices.Contains(f.seen[path], n.scalar) {
		f.seen[path] = append(f.seen[path], n.scalar)
	}
	for i, item := range n.items {
		f.collect(below(path, n, i), item)
	}
}

// below is the path of an item.
func below(path string, n *node, i int) string {
	if n.open == '[' {
		return path + "[]"
	}
	if !strings.HasSuffix(path, " ") {
		path += "."
	}
	return path + unquoted(n.keys[i])
}

// add adds a mutant whose lines other returns, and its sealed twin.
func (f *file) add(m Mutant, moved bool, lines func() [][]byte) {
	m.data = func() []byte { return bytes.Join(lines(), nil) }
	f.mutants = append(f.mutants, m)
	if f.seal == nil {
		return
	}
	m.Sealed = true
	m.data = func() []byte { return bytes.Join(f.seal(lines(), moved), nil) }
	f.mutants = append(f.mutants, m)
}

// addLine adds a mutant in which a line has another text.
func (f *file) addLine(m Mutant, i int, text string) {
	m.Line = i + 1
	if m.Now == "" {
		m.Now = text
	}
	f.add(m, false, func() [][]byte { return replaced(f.lines, i, 1, []byte(text+"\n")) })
}

// replaced returns lines in which others stand for n of them.
func replaced(lines [][]byte, at, n int, with ...[]byte) [][]byte {
	return slices.Concat(lines[:at], with, lines[at+n:])
}

// mutateLine changes keys and values in a line.
func (f *file) mutateLine(i int) {
	tree := f.trees[i]
	f.mutate(i, label(tree)+": ", tree)
}

func (f *file) mutate(line int, path string, n *node) {
	write := func(kind, path, now string) {
		text := f.trees[line].String()
		f.addLine(Mutant{Kind: kind, Key: path, Now: now + " in " + text}, line, text)
	}
	if len(n.keys) > 1 {
		n.swap(0, len(n.keys)-1)
		write(Reordered, path, "")
		n.swap(0, len(n.keys)-1)
	}
	for i := range n.items {
		path := below(path, n, i)
		f.mutateKey(n, i, func(kind string) { write(kind, path, "") })
		was := n.items[i]
		for _, other := range f.others(path, was) {
			n.items[i] = &node{scalar: other.text}
			write(other.kind, path, other.text)
		}
		n.items[i] = was
		f.mutate(line, path, was)
	}
}

func (n *node) swap(i, j int) {
	n.keys[i], n.keys[j] = n.keys[j], n.keys[i]
	n.items[i], n.items[j] = n.items[j], n.items[i]
}

// mutateKey drops, doubles and renames an item of n, and writes each.
func (f *file) mutateKey(n *node, i int, write func(kind string)) {
	keys, items := n.keys, n.items
	set := func(kind string, key []string, item []*node) {
		if n.open == '{' {
			n.keys = slices.Concat(keys[:i], key, keys[i+1:])
		}
		n.items = slices.Concat(items[:i], item, items[i+1:])
		write(kind)
		n.keys, n.items = keys, items
	}
	set(Dropped, nil, nil)
	item := items[i]
	if n.open == '[' {
		set(Doubled, nil, []*node{item, item})
		return
	}
	k, other := keys[i], &node{scalar: opposite(item)}
	set(Doubled, []string{k, k}, []*node{item, item})
	set(DoubledWith, []string{k, k}, []*node{item, other})
	set(DoubledWith, []string{k, k}, []*node{other, item})
	if upper := quoted(strings.ToUpper(unquoted(k))); upper != k {
		set(OtherCase, []string{upper}, []*node{item})
		set(Twin, []string{k, upper}, []*node{item, other})
	}
	set(Renamed, []string{quoted(unquoted(k) + "x")}, []*node{item})
}

// opposite is another value of the same type.
func opposite(n *node) string {
	switch n.kind() {
	case "string":
		return `"other"`
	case "number":
		return "0"
	case "bool":
		return map[string]string{"true": "false", "false": "true"}[n.scalar]
	case "array":
		return "[]"
	case "object":
		return "{}"
	}
	return "1"
}

type change struct{ kind, text string }

// byType has a value of each type.
var byType = []change{
	{"string", `"7"`}, {"number", "7"}, {"bool", "true"}, {"array", "[]"}, {"object", "{}"}, {"array", `["x"]`},
}

// empty is the empty value of a type.
var empty = map[string]string{"string": `""`, "number": "0", "bool": "false", "array": "[]", "object": "{}"}

// others are the values that may stand for one.
func (f *file) others(path string, n *node) []change {
	var all []change
	kind := n.kind()
	if kind != "null" {
		all = append(all, change{Null, "null"})
	}
	for _, t := range byType {
		if t.kind != kind {
			all = append(all, change{OtherType, t.text})
		}
	}
	if e := empty[kind]; e != "" && e != n.String() {
		all = append(all, change{Emptied, e})
	}
	var changed []string
	switch kind {
	case "bool":
		changed = []string{opposite(n)}
	case "number":
		minus, _ := strings.CutPrefix("-"+n.scalar, "--")
		changed = []string{minus, n.scalar + "1", n.scalar + "e0", "0.5", "1e400", "9223372036854775808", "-0"}
	case "string":
		text := unquoted(n.scalar)
		changed = []string{
			quoted(text + "x"), quoted(strings.ToUpper(text)), quoted(" " + text), quoted(text + "\n"),
			quoted(text + "\x00"), n.scalar[:len(n.scalar)-1] + `\ud800"`, n.scalar[:len(n.scalar)-1] + "\xff\"",
		}
	}
	seen := f.seen[path]
	changed = append(changed, seen[:min(len(seen), 6)]...)
	slices.Sort(changed)
	for _, text := range slices.Compact(changed) {
		if text != n.scalar {
			all = append(all, change{Changed, text})
		}
	}
	return all
}

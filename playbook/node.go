package playbook

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

// Node is a value in a playbook's file, for a [Kind] to decode: a mapping with the kind's own keys, and everything
// below it. Methods of a nil Node return zero values.
type Node struct{ node *doc.Node }

// Entry is a key of a mapping with its value.
type Entry struct {
	Key string
	// Position is the key's.
	Position Position
	Value    *Node
}

// ParseNode parses a text, which is YAML or JSON, and has decode decode its value as if it stood in a playbook. The error is
// [Errors].
func ParseNode(file string, data []byte, decode func(*Node)) error {
	d := doc.Parse(file, data)
	doc.Handle(d, func(n **Node, node *doc.Node) { *n = wrap(node) })
	if d.Root != nil {
		decode(wrap(d.Root))
	}
	return errorsOf(d)
}

func wrap(n *doc.Node) *Node {
	if n == nil {
		return nil
	}
	return &Node{n}
}

func (n *Node) unwrap() *doc.Node {
	if n == nil {
		return nil
	}
	return n.node
}

// Decode stores the node in the struct, or other value, that v points to, and reports everything that does not fit:
// unknown and missing keys, wrong types, values out of bounds. It returns whether all was well. It panics if v is of a
// type that cannot be decoded into.
//
// Nothing is converted: strings take strings, integers take integers in range. A struct takes a mapping, a map takes a
// mapping, and so does a slice of structs of which one field is tagged `yaml:",key"`: it keeps the order of the file.
// A time.Duration takes a string such as "90s", an encoding.TextUnmarshaler any string, an any what [Node.Value]
// returns, an [Evaluator] an entry of a list of evaluators, and a *Node anything. A pointer stays nil if the key is
// absent. Fields without a yaml tag are left alone.
//
//	yaml:"name"          the key
//	yaml:"name,required" it must be there, and neither null nor empty nor blank
//	yaml:"name,refused"  it must not be there, for the reason; the field is left alone
//	yaml:",key"          takes the key under which the struct stands in its mapping
//	yaml:",position"     takes the [Position] of the struct
//	doc:"..."            a description for people
//	default:"1"          the value if the key is absent
//	enum:"a,b"           the strings it may be
//	known:"a,b"          the strings it may be, for the schema: decoding leaves them to the caller
//	pattern:"^...$"      what a string, or each key of a mapping, must match
//	min:"1" max:"9"      bounds of a number, or of the length of a list or mapping; min:"1" keeps a string from being blank
//	above:"0"            what a number must exceed
//	reason:"..."         what to say when something required is missing or empty
func (n *Node) Decode(v any) bool { return n.unwrap().Decode(v) }

// Errorf reports a problem with the value at path below n, "" for n itself: n.Errorf("expected[0].args", "no such
// tool"). The error has the position of the value, or of what is nearest above it if there is none at path.
func (n *Node) Errorf(path, format string, args ...any) { n.unwrap().Errorf(path, format, args...) }

// Position returns where the node's entry begins: its key if it is a value in a mapping, else the value itself.
func (n *Node) Position() Position {
	if n == nil {
		return Position{}
	}
	return Position(n.node.Position())
}

// Path returns the node's place in the file, e.g. "evaluators[0].expected".
func (n *Node) Path() string {
	if n == nil {
		return ""
	}
	return n.node.Path()
}

// Value returns the node as encoding/json would decode it with UseNumber: map[string]any, []any, string, json.Number,
// which keeps numbers as they are written, bool or nil.
func (n *Node) Value() any { return n.unwrap().Value() }

// Get returns the value of a key, nil if the node is not a mapping or does not have it.
func (n *Node) Get(key string) *Node { return wrap(n.unwrap().Get(key)) }

// Entries returns the entries of a mapping in the order of the file, nil if the node is not a mapping.
func (n *Node) Entries() []Entry {
	var entries []Entry
	for _, e := range n.unwrap().Entries() {
		entries = append(entries, Entry{Key: e.Key, Position: Position(e.Position), Value: wrap(e.Value)})
	}
	return entries
}

// Items returns the elements of a list, nil if the node is not a list.
func (n *Node) Items() []*Node {
	var items []*Node
	for _, item := range n.unwrap().Items() {
		items = append(items, wrap(item))
	}
	return items
}

// CheckCommand refuses a command that the playbook's run steps and agents' terminals may not start, see
// [Playbook.AllowedCommands].
func (n *Node) CheckCommand(args []string) error {
	var p Playbook
	if d := n.unwrap().Document(); d != nil {
		for _, name := range d.Root.Get("sandbox").Get("allow_commands").Items() {
			p.Sandbox.AllowCommands = append(p.Sandbox.AllowCommands, name.Text())
		}
	}
	return p.checkCommand(args)
}

// Dir returns the directory of the playbook's file, absolute; empty: it was parsed from a text.
func (n *Node) Dir() string {
	if d := n.unwrap().Document(); d != nil {
		return d.Dir
	}
	return ""
}

// File returns the absolute path of the regular file that a path in the playbook means: relative to the playbook's
// directory or, if it is not there, to one of those above, up to the project's root.
func (n *Node) File(path string) (string, error) {
	d := n.unwrap().Document()
	if d == nil || d.Dir == "" {
		return "", fmt.Errorf("%s: a playbook that is not a file cannot name others", path)
	}
	path = filepath.FromSlash(path)
	if filepath.IsAbs(path) {
		return path, checkRegular(path)
	}
	first := filepath.Join(d.Dir, path)
	err := checkRegular(first)
	for dir := d.Dir; errors.Is(err, fs.ErrNotExist) && isBelow(dir, d.Top); {
		dir = filepath.Dir(dir)
		found := filepath.Join(dir, path)
		if checkRegular(found) == nil {
			return found, nil
		}
	}
	return first, err
}

// isBelow reports whether dir is a directory below top, and not top itself.
func isBelow(dir, top string) bool {
	if top == "" {
		return false
	}
	rel, err := filepath.Rel(top, dir)
	return err == nil && rel != "." && filepath.IsLocal(rel)
}

func checkRegular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file", path)
	}
	return nil
}

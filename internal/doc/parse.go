package doc

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// The limits on a file. Aliases count each time they are used, so that a small file cannot expand into a large tree.
const (
	MaxSize  = 1 << 20 // bytes
	MaxNodes = 100_000 // values, lists and mappings
	MaxDepth = 64      // lists and mappings within each other
)

// Load reads and parses the file at path, whose name in positions is name. The error is about reading the file.
// Problems with the text are in the document.
func Load(path, name string) (*Document, error) {
	// Opening a FIFO would wait for its writer.
	if info, err := os.Stat(path); err == nil && !info.IsDir() && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, err // it names the file
	}
	return Parse(name, data), nil
}

// Parse parses the text of a file, whose name is used in positions only.
func Parse(file string, data []byte) *Document { return parse(file, data, false) }

// ParseMerging is Parse for files of others, which may have merge keys: <<.
func ParseMerging(file string, data []byte) *Document { return parse(file, data, true) }

func parse(file string, data []byte, merge bool) *Document {
	d := &Document{file: file, Text: data}
	if !d.checkText(data) {
		return d
	}
	src := &source{data: data}
	dec := yaml.NewDecoder(src)
	first, err := decodeDocument(dec)
	switch {
	case errors.Is(err, io.EOF):
		d.report(d.at(1, 1), "", "the file is empty")
		return d
	case err != nil:
		d.reportSyntax(src, err)
		return d
	}
	second, err := decodeDocument(dec)
	if err != nil && !errors.Is(err, io.EOF) {
		d.reportSyntax(src, err)
		return d
	}
	b := builder{doc: d, open: make(map[*yaml.Node]bool), merge: merge}
	d.Root = b.build(first.Content[0], "", Position{}, 0)
	if err == nil {
		d.report(d.at(second.Line, second.Column), "", "a second YAML document: a file must have only one")
		d.Root.flawed = true
	}
	return d
}

// decodeDocument reads the next document. The YAML package, which is no longer maintained, panics if it suspects a
// mistake of its own. A file must not crash the process.
func decodeDocument(dec *yaml.Decoder) (n *yaml.Node, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("yaml: %v", p)
		}
	}()
	n = new(yaml.Node)
	err = dec.Decode(n)
	return n, err
}

// source returns one byte at a time, so that read is the parser's position: the errors of the YAML package name the
// wrong line or none.
type source struct {
	data []byte
	read int
}

func (s *source) Read(p []byte) (int, error) {
	if s.read == len(s.data) {
		return 0, io.EOF
	}
	n := copy(p[:min(1, len(p))], s.data[s.read:])
	s.read += n
	return n, nil
}

func (d *Document) at(line, column int) Position {
	return Position{File: d.file, Line: line, Column: column}
}

// checkText reports whether the size, the encoding and the characters of data are allowed in a YAML file.
func (d *Document) checkText(data []byte) bool {
	if len(data) > MaxSize {
		d.report(d.at(1, 1), "", fmt.Sprintf("the file exceeds the limit of %d bytes", MaxSize))
		return false
	}
	line, column := 1, 1
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			d.report(d.at(line, column), "", fmt.Sprintf("not UTF-8: byte 0x%02x", data[i]))
			return false
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r >= 0x7f && r < 0xa0 && r != 0x85,
			r == 0xfffe, r == 0xffff:
			d.report(d.at(line, column), "", fmt.Sprintf("control character %U", r))
			return false
		}
		i += size
		column++
		if r == '\n' {
			line, column = line+1, 1
		}
	}
	return true
}

var (
	yamlLine      = lazyregexp.New(`^yaml: (?:line (\d+): )?`)
	unknownAnchor = lazyregexp.New(`unknown anchor '(.*)' referenced`)
)

// reportSyntax reports an error of the YAML package, at the best position that can be found.
func (d *Document) reportSyntax(src *source, err error) {
	text := err.Error()
	m := yamlLine.FindStringSubmatch(text)
	reason := strings.TrimPrefix(text, "yaml: ")
	line := 1
	if m != nil {
		reason = text[len(m[0]):]
		if m[1] != "" {
			line, _ = strconv.Atoi(m[1])
		}
	}
	if strings.HasPrefix(reason, "did not find expected") {
		// The line in a grammar error is where the enclosing block began, so use the parser's position. The scanner has
		// looked ahead by at least four characters.
		seen := src.data[:max(0, src.read-5)]
		if inFlow(reason) { // between brackets, it has also skipped white space
			seen = bytes.TrimSpace(seen)
		}
		line = 1 + bytes.Count(seen, []byte("\n"))
	}
	line = min(line, 1+bytes.Count(src.data, []byte("\n")))
	if a := unknownAnchor.FindStringSubmatch(reason); a != nil {
		before, _, _ := bytes.Cut(src.data, []byte("*"+a[1]))
		line = 1 + bytes.Count(before, []byte("\n"))
		reason = fmt.Sprintf("unknown anchor %q", a[1])
	}
	lines := bytes.Split(src.data, []byte("\n"))
	if strings.Contains(reason, "tab character") || strings.Contains(reason, "cannot start any token") {
		for i, l := range lines[line-1:] {
			if tab := bytes.IndexByte(indentation(l), '\t'); tab >= 0 {
				d.report(d.at(line+i, tab+1), "", "tabs cannot indent YAML, use spaces")
				return
			}
		}
	}
	column := len(indentation(lines[line-1])) + 1
	if inFlow(reason) {
		if c := question(lines[line-1]); c > 0 {
			column = c
		}
		reason += ": a bracket is not closed, or a text with ? : , [ ] { } or # needs quotes"
	}
	d.report(d.at(line, column), "", "not valid YAML: "+reason)
}

// inFlow reports whether an error is about text between brackets.
func inFlow(reason string) bool { return strings.HasPrefix(reason, "did not find expected ',' or") }

var questionMark = lazyregexp.New(`^[^"]*(?:"[^"]*"[^"]*)*?(\?)\s*[,\]}]`)

// question returns the column of a question mark at the end of a text without quotes, 0 if there is none. Between
// brackets it has another meaning in YAML, which is the most frequent mistake there.
func question(line []byte) int {
	m := questionMark.FindStringSubmatchIndex(string(line))
	if m == nil {
		return 0
	}
	return 1 + utf8.RuneCount(line[:m[2]])
}

func indentation(line []byte) []byte {
	return line[:len(line)-len(bytes.TrimLeft(line, " \t"))]
}

// builder converts the nodes of the YAML package.
type builder struct {
	doc   *Document
	nodes int
	open  map[*yaml.Node]bool // anchored nodes whose content is being built
	merge bool                // merge keys are followed
}

// build returns the node for y at path; key is the position of its key, zero if it has none.
func (b *builder) build(y *yaml.Node, path string, key Position, depth int) *Node {
	n := &Node{doc: b.doc, path: path, pos: b.doc.at(y.Line, y.Column), key: key}
	if key == (Position{}) {
		n.key = n.pos
	}
	if y.Kind == yaml.AliasNode {
		if b.open[y.Alias] {
			return b.invalid(n, fmt.Sprintf("alias *%s is inside the value that it refers to", y.Value))
		}
		return b.build(y.Alias, path, n.key, depth)
	}
	if b.nodes++; b.nodes > MaxNodes {
		return b.invalid(n, fmt.Sprintf("the file has more than %d values (aliases expanded)", MaxNodes))
	}
	if y.Style&yaml.TaggedStyle != 0 {
		return b.invalid(n, fmt.Sprintf("YAML tags are not supported, remove %s", y.Tag))
	}
	if depth > MaxDepth {
		return b.invalid(n, fmt.Sprintf("nested deeper than %d levels", MaxDepth))
	}
	b.open[y] = true
	defer delete(b.open, y)
	switch y.Kind {
	case yaml.ScalarNode:
		return b.scalar(n, y)
	case yaml.SequenceNode:
		n.kind = List
		for i, c := range y.Content {
			item := b.build(c, path+"["+strconv.Itoa(i)+"]", Position{}, depth+1)
			n.items, n.flawed = append(n.items, item), n.flawed || item.flawed
			if b.nodes > MaxNodes {
				break // it is reported already
			}
		}
		return n
	default:
		return b.mapping(n, y, depth)
	}
}

func (b *builder) mapping(n *Node, y *yaml.Node, depth int) *Node {
	n.kind = Map
	seen := make(map[string]int) // key to its line
	var merged []Entry
	for i := 0; i+1 < len(y.Content) && b.nodes <= MaxNodes; i += 2 {
		k, v := y.Content[i], y.Content[i+1]
		pos := b.doc.at(k.Line, k.Column)
		key := b.scalar(&Node{doc: b.doc, path: n.path, pos: pos, key: pos}, k)
		switch {
		case k.Kind == yaml.ScalarNode && k.Tag == "!!merge" && b.merge:
			merged = append(merged, b.merged(n, key, v, depth)...)
			continue
		case k.Kind == yaml.ScalarNode && k.Tag == "!!merge":
			b.invalid(key, "merge keys (<<) are not supported, write the keys out")
		case key.kind == Invalid:
		case key.kind != String:
			b.invalid(key, "a key must be a string, not "+key.kind.String()+": quote it")
		case seen[key.text] != 0:
			key.path = join(n.path, pathKey(key.text))
			b.invalid(key, fmt.Sprintf("duplicate key %q, first on line %d", key.text, seen[key.text]))
		}
		if key.flawed {
			n.flawed = true
			continue
		}
		seen[key.text] = k.Line
		value := b.build(v, join(n.path, pathKey(key.text)), pos, depth+1)
		n.entries, n.flawed = append(n.entries, Entry{Key: key.text, Position: pos, Value: value}), n.flawed ||
			value.flawed
	}
	for _, e := range merged { // a key of the mapping itself comes first, then that of the mapping that is named first
		if seen[e.Key] == 0 {
			seen[e.Key] = e.Position.Line
			n.entries, n.flawed = append(n.entries, e), n.flawed || e.Value.flawed
		}
	}
	return n
}

// merged returns the entries of the mappings that a merge key names: one, or a list of them.
func (b *builder) merged(n, key *Node, y *yaml.Node, depth int) (all []Entry) {
	from := []*yaml.Node{y}
	if y.Kind == yaml.SequenceNode {
		from = y.Content
	}
	for _, y := range from {
		m := b.build(y, n.path, key.pos, depth+1)
		if m.kind != Map && m.kind != Invalid {
			b.invalid(key, "a merge key (<<) takes the keys of a mapping, not "+m.kind.String())
		}
		n.flawed = n.flawed || m.flawed || key.flawed
		all = append(all, m.entries...)
	}
	return all
}

func (b *builder) invalid(n *Node, reason string) *Node {
	n.kind, n.flawed = Invalid, true
	b.doc.report(n.pos, n.path, reason)
	return n
}

var (
	jsonNumber = lazyregexp.New(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?$`)
	// otherNumber matches numbers of YAML 1.1 or 1.2 that are not numbers in JSON: 0x1F, 0o17, 0b1, 017, 1_000, +1, .5
	// and "1.".
	otherNumber = lazyregexp.New(`^[-+]?(0x[0-9a-fA-F_]+|0o[0-7_]+|0b[01_]+|` +
		`(\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?)$`)
	notFinite = lazyregexp.New(`^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$`)
)

// scalar sets n to the scalar y. Scalars that are not plain are strings.
func (b *builder) scalar(n *Node, y *yaml.Node) *Node {
	n.kind, n.text = String, y.Value
	switch {
	case y.Kind != yaml.ScalarNode:
		return b.invalid(n, "a key must be a string")
	case y.Style&yaml.TaggedStyle != 0:
		return b.invalid(n, "YAML tags are not supported, remove "+y.Tag)
	case y.Style != 0:
		return n
	}
	switch y.Value {
	case "", "~", "null", "Null", "NULL":
		n.kind = Null
		return n
	case "true", "True", "TRUE":
		n.kind, n.text = Bool, "true"
		return n
	case "false", "False", "FALSE":
		n.kind, n.text = Bool, "false"
		return n
	}
	switch {
	case jsonNumber.MatchString(y.Value):
		n.kind = Number
	case notFinite.MatchString(y.Value):
		return b.invalid(n, "numbers must be finite")
	case otherNumber.MatchString(y.Value):
		return b.invalid(n, "write the number "+y.Value+" in plain decimal, or quote it to make it a string")
	}
	return n
}

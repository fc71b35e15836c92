package agent

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/pelletier/go-toml/v2/unstable"
)

// keyLines are the lines of the keys in a TOML file, 1-based, by their dotted paths as pathKey has them.
type keyLines map[string]int

// pathKey returns a dotted path as one string. A key may hold any character.
func pathKey(path []string) string { return fmt.Sprintf("%q", path) }

// of returns the line of a key, or of the innermost table around it that has one.
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

// keyFinder collects keys in the order in which they stand in data.
type keyFinder struct {
	data  []byte
	at    int // up to where lines are counted
	line  int
	lines keyLines
}

// add adds the key of a node within a table, and those in its value. It returns the key's path.
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

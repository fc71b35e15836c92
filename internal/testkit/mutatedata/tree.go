package mutatedata

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// node is a JSON value that keeps the order of keys, and may have a key twice.
type node struct {
	scalar string // as written; empty: an object or an array
	open   byte   // '{' or '[', 0 for a scalar
	keys   []string
	items  []*node // of an array, or by keys
}

// parse returns the tree of a line. It panics if the line is no JSON.
func parse(line []byte) *node {
	var compact bytes.Buffer
	if err := json.Compact(&compact, line); err != nil {
		panic(fmt.Sprintf("mutatedata: %v: %s", err, line))
	}
	n, _ := value(compact.String())
	return n
}

// value returns the first value of a compact text, and what follows it.
func value(s string) (*node, string) {
	switch s[0] {
	case '"':
		end := 1
		for ; s[end] != '"'; end++ {
			if s[end] == '\\' {
				end++
			}
		}
		return &node{scalar: s[:end+1]}, s[end+1:]
	case '{', '[':
		return container(s)
	}
	end := strings.IndexAny(s+",", ",]}")
	return &node{scalar: s[:end]}, s[end:]
}

func container(s string) (*node, string) {
	n := &node{open: s[0]}
	for s = s[1:]; s[0] != ']' && s[0] != '}'; s = strings.TrimPrefix(s, ",") {
		var item *node
		if n.open == '{' {
			item, s = value(s)
			n.keys = append(n.keys, item.scalar)
			s = s[1:] // the colon
		}
		item, s = value(s)
		n.items = append(n.items, item)
	}
	return n, s[1:]
}

// String returns the value as compact JSON.
func (n *node) String() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *node) write(b *strings.Builder) {
	if n.open == 0 {
		b.WriteString(n.scalar)
		return
	}
	b.WriteByte(n.open)
	for i, item := range n.items {
		if i > 0 {
			b.WriteByte(',')
		}
		if n.open == '{' {
			b.WriteString(n.keys[i] + ":")
		}
		item.write(b)
	}
	b.WriteByte(n.open + 2) // in ASCII, both brackets close two places on
}

// kind is the JSON type of the value.
func (n *node) kind() string {
	switch {
	case n.open == '{':
		return "object"
	case n.open == '[':
		return "array"
	}
	switch n.scalar[0] {
	case '"':
		return "string"
	case 't', 'f':
		return "bool"
	case 'n':
		return "null"
	}
	return "number"
}

// get returns the value of a key, nil if there is none.
func (n *node) get(key string) *node {
	for i, k := range n.keys {
		if k == quoted(key) {
			return n.items[i]
		}
	}
	return nil
}

func quoted(s string) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		panic(err) // strings can be encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func unquoted(s string) string {
	var text string
	if err := json.Unmarshal([]byte(s), &text); err != nil {
		panic(fmt.Sprintf("mutatedata: %v: %s", err, s))
	}
	return text
}

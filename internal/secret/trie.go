package secret

import (
	"bytes"
	"iter"
)

// trie finds many texts in one pass (Aho and Corasick 1975). Most nodes have one child, and only nodes with more have a
// table, so the memory is in proportion to the texts.
type trie struct {
	nodes []node // the root is the first
	rows  [][256]int32
}

type node struct {
	fail  int32 // the node of the longest proper suffix that is in the trie
	child int32 // the only child, which b leads to, or 0
	row   int32 // 1 + the index of the row with several children, or 0
	out   int32 // 1 + the index of the pattern that ends here, or 0
	link  int32 // the next node by fail at which a pattern ends, or 0
	depth int32
	owner int32 // 1 + the index of a secret that begins with this text, or 0; from cutSize on
	b     byte
}

func newTrie() *trie { return &trie{nodes: make([]node, 1)} }

// insert adds a text, which becomes the pattern with that index. If it is secret, so are its beginnings.
func (t *trie) insert(text string, pattern int, secret bool) {
	at := int32(0)
	for i := range len(text) {
		next := t.get(at, text[i])
		if next == 0 {
			next = int32(len(t.nodes))
			t.nodes = append(t.nodes, node{depth: int32(i + 1)})
			t.set(at, text[i], next)
		}
		at = next
		if n := &t.nodes[at]; secret && i+1 >= cutSize && n.owner == 0 {
			n.owner = int32(pattern + 1)
		}
	}
	t.nodes[at].out = int32(pattern + 1)
}

func (t *trie) get(at int32, b byte) int32 {
	n := &t.nodes[at]
	if n.row != 0 {
		return t.rows[n.row-1][b]
	}
	if n.b == b {
		return n.child
	}
	return 0
}

func (t *trie) set(at int32, b byte, child int32) {
	n := &t.nodes[at]
	switch {
	case n.row != 0:
		t.rows[n.row-1][b] = child
	case n.child == 0:
		n.child, n.b = child, b
	default:
		t.rows = append(t.rows, [256]int32{})
		row := &t.rows[len(t.rows)-1]
		row[n.b], row[b] = n.child, child
		n.row, n.child = int32(len(t.rows)), 0
	}
}

// finish computes the links. It is called after the last insert.
func (t *trie) finish() {
	queue := []int32{0}
	for len(queue) > 0 {
		at := queue[0]
		queue = queue[1:]
		for b, child := range t.children(at) {
			n := &t.nodes[child]
			if at != 0 {
				n.fail = t.step(t.nodes[at].fail, b)
			}
			n.link = n.fail
			if t.nodes[n.fail].out == 0 {
				n.link = t.nodes[n.fail].link
			}
			queue = append(queue, child)
		}
	}
}

// children yields the children of a node by their bytes.
func (t *trie) children(at int32) iter.Seq2[byte, int32] {
	return func(yield func(byte, int32) bool) {
		n := t.nodes[at]
		if n.row == 0 {
			_ = n.child == 0 || yield(n.b, n.child)
			return
		}
		for b, child := range t.rows[n.row-1] {
			if child != 0 && !yield(byte(b), child) {
				return
			}
		}
	}
}

// step returns the node after the next byte: that of the longest prefix in the trie with which the text so far ends.
func (t *trie) step(at int32, b byte) int32 {
	for {
		if next := t.get(at, b); next != 0 {
			return next
		}
		if at == 0 {
			return 0
		}
		at = t.nodes[at].fail
	}
}

// pending returns how many of the last bytes may begin a text that is not complete.
func (t *trie) pending(at int32) int {
	for at != 0 && t.nodes[at].child == 0 && t.nodes[at].row == 0 {
		at = t.nodes[at].fail
	}
	return int(t.nodes[at].depth)
}

// headSize is the number of bytes that the quick search looks at.
const headSize = 3

// heads knows, roughly, the first bytes of all patterns. It finds the places where one may begin several times faster
// than the trie, and most text has no such place.
type heads struct {
	bits [1 << (hashBits - 6)]uint64
	// pairs has the first and the last two bytes of each head. To find a head, it is enough to look at every second
	// pair of bytes.
	pairs [1 << (16 - 6)]uint64
	// escaped means that a head may be escaped in JSON.
	escaped bool
}

const hashBits = 16

func hash(head uint32) uint32 { return head * 0x9e3779b1 >> (32 - hashBits) }

// has reports whether a text may begin with these bytes.
func (h *heads) has(a, b, c byte) bool {
	i := hash(uint32(a) | uint32(b)<<8 | uint32(c)<<16)
	return h.bits[i>>6]&(1<<(i&63)) != 0
}

// add adds a text, which must not be empty. If it is shorter than a head, all heads that begin with it are added.
func (h *heads) add(text string) {
	head, size := uint32(0), min(len(text), headSize)
	for i := range size {
		head |= uint32(text[i]) << (8 * i)
		h.escaped = h.escaped || text[i] < ' ' || text[i] == '"' || text[i] == '\\'
	}
	h.escaped = h.escaped || size < headSize
	for rest := range uint32(1) << (8 * (headSize - size)) {
		head := head | rest<<(8*size)
		for _, pair := range []uint32{head & 0xffff, head >> 8} {
			h.pairs[pair>>6] |= 1 << (pair & 63)
		}
		i := hash(head)
		h.bits[i>>6] |= 1 << (i & 63)
	}
}

// next returns the first place from i on where a text may begin. The last two bytes are always such places.
func (h *heads) next(data []byte, i int) int {
	for j := i + 2; j < len(data); j += 2 {
		pair := uint(data[j-1]) | uint(data[j])<<8
		if h.pairs[pair>>6]&(1<<(pair&63)) == 0 {
			continue
		}
		if h.has(data[j-2], data[j-1], data[j]) {
			return j - 2
		}
		if j+1 < len(data) && h.has(data[j-1], data[j], data[j+1]) {
			return j - 1
		}
	}
	return max(i, len(data)-headSize+1)
}

// inJSON reports whether a text may begin in a string of raw, or in raw itself. If no head needs escapes, a head looks
// in raw as it does in the string, unless the writer has escaped more than necessary.
func (h *heads) inJSON(raw []byte) bool {
	return h.escaped || h.next(raw, 0) < len(raw)-headSize+1 ||
		bytes.Contains(raw, []byte(`\u`)) || bytes.Contains(raw, []byte(`\/`))
}

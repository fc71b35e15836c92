package secret

import "iter"

// trie finds many texts in one pass (Aho and Corasick 1975). Most nodes have one child, so that only those with more have
// a table: the memory is in proportion to the texts.
type trie struct {
	nodes []node // the root is the first
	rows  [][256]int32
}

type node struct {
	fail  int32 // the node of the longest proper suffix that is in the trie
	child int32 // the only child, by b; 0: none or, with a row, several
	row   int32 // 1 + the index of the row with the children; 0: none
	out   int32 // 1 + the index of the pattern that ends here; 0: none
	link  int32 // the next node by fail at which a pattern ends; 0: none
	depth int32
	b     byte
}

func newTrie() *trie { return &trie{nodes: make([]node, 1)} }

// insert adds a text, which becomes the pattern with that index.
func (t *trie) insert(text string, pattern int) {
	at := int32(0)
	for i := range len(text) {
		next := t.get(at, text[i])
		if next == 0 {
			next = int32(len(t.nodes))
			t.nodes = append(t.nodes, node{depth: int32(i + 1)})
			t.set(at, text[i], next)
		}
		at = next
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

// finish computes the links, after the last text.
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

// step returns the node after the next byte: that of the longest text before and with it which is in the trie.
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

// pending returns how many of the bytes before a node may be the beginning of a text that goes on.
func (t *trie) pending(at int32) int {
	for at != 0 && t.nodes[at].child == 0 && t.nodes[at].row == 0 {
		at = t.nodes[at].fail
	}
	return int(t.nodes[at].depth)
}

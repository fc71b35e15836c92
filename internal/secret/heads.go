package secret

import "bytes"

// headSize is how many bytes the quick search looks at.
const headSize = 3

// heads knows, roughly, the first bytes of all patterns. It finds where one may begin several times faster than the trie,
// and most text has no such place.
type heads struct {
	bits [1 << (hashBits - 6)]uint64
	// pairs has the first and the last two bytes of each head: whatever head is in a text, every second pair of bytes
	// shows it.
	pairs [1 << (16 - 6)]uint64
	// escaped tells that JSON may have other bytes for a head than its own.
	escaped bool
}

const hashBits = 16

func hash(head uint32) uint32 { return head * 0x9e3779b1 >> (32 - hashBits) }

// has reports whether a text may begin with these bytes.
func (h *heads) has(a, b, c byte) bool {
	i := hash(uint32(a) | uint32(b)<<8 | uint32(c)<<16)
	return h.bits[i>>6]&(1<<(i&63)) != 0
}

// add adds a text that is not empty. If it is shorter than a head, then whatever follows it belongs to heads.
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

// next returns the first place from i on where a text may begin; the last two bytes always are one.
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

// inJSON reports whether a text may begin in a string of raw, or in raw itself. Where no head is ever escaped, it stands in
// raw as it stands in the string, unless a writer has escaped what need not be.
func (h *heads) inJSON(raw []byte) bool {
	return h.escaped || h.next(raw, 0) < len(raw)-headSize+1 ||
		bytes.Contains(raw, []byte(`\u`)) || bytes.Contains(raw, []byte(`\/`))
}

package secret

// headSize is how many bytes the quick search looks at.
const headSize = 3

// heads knows, roughly, the first bytes of all patterns. It finds where one may begin several times faster than the trie,
// and most text has no such place.
type heads struct {
	bits [1 << (hashBits - 6)]uint64
}

const hashBits = 16

func hash(head uint32) uint32 { return head * 0x9e3779b1 >> (32 - hashBits) }

func (h *heads) has(head uint32) bool {
	i := hash(head)
	return h.bits[i>>6]&(1<<(i&63)) != 0
}

// add adds a text that is not empty. If it is shorter than a head, then whatever follows it belongs to heads.
func (h *heads) add(text string) {
	head, size := uint32(0), min(len(text), headSize)
	for i := range size {
		head |= uint32(text[i]) << (8 * i)
	}
	for rest := range uint32(1) << (8 * (headSize - size)) {
		i := hash(head | rest<<(8*size))
		h.bits[i>>6] |= 1 << (i & 63)
	}
}

// next returns the first place from i on where a text may begin; the last two bytes always are one.
func (h *heads) next(data []byte, i int) int {
	if i+headSize > len(data) {
		return i
	}
	head := uint32(data[i])<<8 | uint32(data[i+1])<<16
	for j := i + 2; j < len(data); j++ {
		head = head>>8 | uint32(data[j])<<16
		if h.has(head) {
			return j - 2
		}
	}
	return len(data) - headSize + 1
}

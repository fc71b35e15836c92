package secret

import (
	"maps"
	"strings"
)

// keyName is the name in the placeholder of text that looks like a key.
const keyName = "key"

// class is a set of sets of bytes.
type class uint8

const (
	token    class = 1 << iota // letters, digits, - and _
	capitals                   // capital letters and digits
	dotted                     // token and dots
	alnum                      // letters and digits
	padded                     // token and what else is in base64
	slashed                    // token and slashes
	block                      // the bytes of a PEM block, also in JSON or a diff, up to the dashes that end it
)

// classes has the classes of each byte.
var classes = func() (all [256]class) {
	for i := range all {
		b := byte(i)
		if wordByte(b) || b == '-' {
			all[b] |= token | dotted | padded | slashed
		}
		if 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' {
			all[b] |= capitals
		}
		if wordByte(b) && b != '_' {
			all[b] |= alnum
		}
		if wordByte(b) && b != '_' || strings.IndexByte("+/=-:,\\ \t\r\n", b) >= 0 {
			all[b] |= block
		}
	}
	all['.'] |= dotted
	all['/'] |= slashed
	for _, b := range []byte("+/=") {
		all[b] |= padded
	}
	return all
}()

// Keys returns what looks like a key in a text, unless it contains a secret of the set.
func (s *Set) Keys(text []byte) (found []string) {
	m := s.matcher()
	if m == nil {
		return nil
	}
	for _, k := range m.scan(text, 0, true).keys {
		var t tail
		t.begin(k.shape, text[k.start])
		end := k.start + 1
		for end < len(text) && t.next(text[end]) {
			end++
		}
		if _, known := s.Contains(text[k.start:end]); !known {
			found = append(found, string(text[k.start:end]))
		}
	}
	return found
}

// Given returns a set with the secrets that this one has now, for which these results of [Set.Keys] are no keys.
func (s *Set) Given(keys []string) *Set {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Set{secrets: maps.Clone(s.secrets), given: keys}
}

// tail follows keys to their end, byte by byte.
type tail struct {
	open   class // the classes of the keys that have not ended
	prefix int   // the bytes that are left of the prefix of the last key
	fresh  class // the class of the last key, which its prefix need not have
	dashes int   // in a block: the number of dashes just before this byte
	fences int   // in a block: the number of runs of dashes so far
}

// The dashes of a PEM block: two runs of five around BEGIN, two around END.
const (
	fenceSize = 5
	fences    = 4
)

// next takes the next byte, and reports whether it belongs to a key.
func (t *tail) next(b byte) bool {
	if t.open == 0 {
		return false
	}
	if t.fences == fences {
		t.open &^= block
	}
	keep := classes[b]
	if t.prefix > 0 {
		t.prefix--
		keep |= t.fresh
	}
	t.open &= keep
	if t.open&block != 0 {
		t.fence(b)
	}
	return t.open != 0
}

// begin takes the first byte of a key.
func (t *tail) begin(s *shape, b byte) {
	t.open |= s.class
	t.prefix, t.fresh = len(s.prefix)-1, s.class
	if s.class == block { // a block inside another one counts anew, or its end would be missed
		t.dashes, t.fences = 0, 0
		t.fence(b)
	}
}

func (t *tail) fence(b byte) {
	if b != '-' {
		t.dashes = 0
		return
	}
	if t.dashes++; t.dashes == fenceSize {
		t.fences++
	}
}

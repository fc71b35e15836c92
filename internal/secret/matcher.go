package secret

import (
	"bytes"
	"maps"
	"slices"
	"strings"
)

// matcher finds the secrets of a set. It is immutable.
type matcher struct {
	trie     *trie
	heads    *heads
	patterns []pattern
}

// pattern is a text to find and its meaning.
type pattern struct {
	size  int
	name  string // of the secret
	word  bool   // found only as a whole word
	kept  bool   // a placeholder or a given key, which is not changed
	shape *shape // if not nil, the text is the prefix of a key
}

// compile returns the matcher for secrets, whose names are given by value. The given keys are none.
func compile(secrets map[string]string, given []string) *matcher {
	patterns := make(map[string]pattern)
	kept := func(name string) { patterns[placeholder(name)] = pattern{kept: true} }
	kept(keyName)
	for i := range shapes {
		patterns[shapes[i].prefix] = pattern{shape: &shapes[i]}
	}
	for _, secret := range slices.Sorted(maps.Keys(secrets)) {
		name := secrets[secret]
		kept(name)
		for _, value := range values(secret) {
			for _, form := range forms(value, len(value) < wordSize) {
				p := pattern{name: name, word: len(value) < wordSize}
				if known, ok := patterns[form]; !ok || p.before(known) {
					patterns[form] = p
				}
			}
		}
	}
	for _, key := range given {
		if _, ok := patterns[key]; !ok {
			patterns[key] = pattern{kept: true, word: true}
		}
	}
	m := &matcher{trie: newTrie(), heads: new(heads)}
	for _, text := range slices.Sorted(maps.Keys(patterns)) {
		p := patterns[text]
		p.size = len(text)
		m.trie.insert(text, len(m.patterns), !p.kept && !p.word && p.shape == nil)
		m.heads.add(text)
		m.patterns = append(m.patterns, p)
	}
	m.trie.finish()
	return m
}

// before reports whether p, which is a secret's, replaces q if they have the same text.
func (p pattern) before(q pattern) bool {
	switch {
	case q.kept:
		return false // otherwise masking again would change placeholders
	case q.shape != nil:
		return true
	case p.word != q.word:
		return q.word
	}
	return strings.Compare(p.name, q.name) < 0
}

// result has the secrets that a scan has found before settled. More text cannot add any that begin there.
type result struct {
	runs    []run // in order; no two overlap
	keys    []key // in order
	settled int
}

// run is a part of the text that overlapping secrets cover, with the name of the first and longest.
type run struct {
	start, end int
	name       string
}

// key is the beginning of text that looks like a key.
type key struct {
	start int
	shape *shape
}

// scan searches data[from:]. The contextSize bytes before from tell where words begin. Unless final is set, more text
// follows.
func (m *matcher) scan(data []byte, from int, final bool) result {
	r := result{settled: len(data)}
	reported := 0
	for i := m.heads.next(data, from); i < len(data); i = m.heads.next(data, i) {
		begin, at := i, int32(0)
		for i < len(data) {
			at = m.trie.step(at, data[i])
			i++
			n := &m.trie.nodes[at]
			if n.out|n.link != 0 && i > reported {
				m.report(&r, data, at, i, final)
				reported = i
			}
			if n.depth >= cutSize {
				m.cut(&r, data, at, i, final)
			}
			if n.depth < headSize && i-begin >= headSize { // back to the quicker search, at least one byte further
				i -= int(n.depth)
				at = 0
				break
			}
		}
		if i == len(data) && !final {
			r.settled = min(r.settled, i-m.trie.pending(at))
		}
	}
	return r
}

// report adds the patterns that end before data[end] to the result, the longest first.
func (m *matcher) report(r *result, data []byte, at int32, end int, final bool) {
	for ; at != 0; at = m.trie.nodes[at].link {
		out := m.trie.nodes[at].out
		if out == 0 {
			continue
		}
		p := &m.patterns[out-1]
		start := end - p.size
		found, decided := true, true
		switch {
		case p.kept:
			if p.word {
				found, decided = isWord(data, start, end, final)
			}
			if found {
				r.drop(start)
				return
			}
		case p.shape != nil:
			if found, decided = p.shape.found(data, start, end, final); found {
				r.keys = append(r.keys, key{start, p.shape})
			}
		case p.word:
			if found, decided = isWord(data, start, end, final); found {
				r.add(run{start, end, p.name})
			}
		default:
			r.add(run{start, end, p.name})
		}
		if !decided {
			r.settled = min(r.settled, start)
		}
	}
}

// add adds a run. None of the runs so far ends after it.
func (r *result) add(n run) {
	for len(r.runs) > 0 {
		last := r.runs[len(r.runs)-1]
		if last.end <= n.start {
			break
		}
		if last.start < n.start || last.start == n.start && last.end == n.end {
			n.start, n.name = last.start, last.name
		}
		r.runs = r.runs[:len(r.runs)-1]
	}
	r.runs = append(r.runs, n)
}

// drop removes the runs and keys that begin at start or later.
func (r *result) drop(start int) {
	for len(r.runs) > 0 && r.runs[len(r.runs)-1].start >= start {
		r.runs = r.runs[:len(r.runs)-1]
	}
	r.keys = slices.DeleteFunc(r.keys, func(k key) bool { return k.start >= start })
}

// isWord reports whether data[start:end] does not begin or end inside a word, and whether that is certain.
func isWord(data []byte, start, end int, final bool) (found, decided bool) {
	if wordByte(data[start]) && !boundary(data, start) {
		return false, true
	}
	if !wordByte(data[end-1]) {
		return true, true
	}
	if end == len(data) {
		return final, final
	}
	return !wordByte(data[end]), true
}

// found reports whether a key begins at start, whose prefix ends before end, and whether that is certain.
func (s *shape) found(data []byte, start, end int, final bool) (found, decided bool) {
	if !boundary(data, start) {
		return false, true
	}
	rest := data[end:min(end+s.least, len(data))]
	for _, b := range rest {
		if classes[b]&s.class == 0 {
			return false, true
		}
	}
	if len(rest) < s.least {
		return false, final
	}
	begins := bytes.ToLower(data[start : end+s.least])
	return !slices.ContainsFunc(fakes, func(word []byte) bool { return bytes.Contains(begins, word) }), true
}

// fakes are words with which documentation and people tell that a key is none, as in AKIAIOSFODNN7EXAMPLE.
var fakes = [][]byte{[]byte("example"), []byte("xxxx"), []byte("your")}

// contextSize is the number of bytes before a text that tell whether a word begins with it.
const contextSize = 3

// boundary reports whether a word may begin at data[at]: there is no part of a word before it, except an escape such as
// \n or %3D.
func boundary(data []byte, at int) bool {
	if at == 0 || !wordByte(data[at-1]) {
		return true
	}
	if at >= 2 && data[at-2] == '\\' {
		return strings.IndexByte("bfnrt", data[at-1]) >= 0
	}
	return at >= 3 && data[at-3] == '%' && isHex(data[at-2]) && isHex(data[at-1])
}

func isHex(b byte) bool {
	return '0' <= b && b <= '9' || 'a' <= b|0x20 && b|0x20 <= 'f'
}

// mask returns the masked text, and whether it differs from data. If not, it is data itself.
func (m *matcher) mask(data []byte) (masked []byte, changed bool) {
	r := m.scan(data, 0, true)
	if len(r.runs) == 0 && len(r.keys) == 0 {
		return data, false
	}
	var c cover
	return c.render(make([]byte, 0, len(data)), data, 0, r), true
}

// cover is the text after what has been rendered that the last placeholder covers, too.
type cover struct {
	bytes int  // the rest of a run
	tail  tail // the rest of a key
}

// render masks data[from:r.settled] and appends it to dst.
func (c *cover) render(dst, data []byte, from int, r result) []byte {
	runs, keys := r.runs, r.keys
	next := func() int { // where the next run or key begins
		at := r.settled
		if len(runs) > 0 {
			at = min(at, runs[0].start)
		}
		if len(keys) > 0 {
			at = min(at, keys[0].start)
		}
		return at
	}
	at, until := from, from+c.bytes
	for at < r.settled {
		inKey := c.tail.next(data[at])
		covered := inKey || at < until
		begins := next() == at
		if !covered && !begins {
			dst = append(dst, data[at:next()]...)
			at = next()
			continue
		}
		name := keyName
		for len(keys) > 0 && keys[0].start == at {
			c.tail.begin(keys[0].shape, data[at])
			inKey = true
			keys = keys[1:]
		}
		if len(runs) > 0 && runs[0].start == at {
			name = runs[0].name
			until = max(until, runs[0].end)
			runs = runs[1:]
		}
		if !covered {
			dst = append(dst, placeholder(name)...)
		}
		if at++; !inKey {
			at = max(at, min(until, next()))
		}
	}
	c.bytes = max(0, until-r.settled)
	return dst
}

package secret

import "bytes"

// Texts are cut before they are masked, by package excerpt and by others, and half a secret is one: a beginning of a
// secret, or of one of its forms, is masked like the whole if an ellipsis follows it.

// cutSize is the length in bytes from which on the beginning of a secret is masked.
const cutSize = wordSize

// ellipses are how a cut is marked: as it is, and escaped in JSON and in JSON inside a string of JSON, after the text
// or after the quotation mark that ends it.
var ellipses = func() (all [][]byte) {
	for _, mark := range []string{"…", `\u2026`, `\\u2026`} {
		for _, quote := range []string{"", `"`, `\"`, "'", "`"} {
			all = append(all, []byte(quote+mark))
		}
	}
	return all
}()

// cut adds the beginning of a secret that ends before data[end], where the node is reached, if an ellipsis follows.
func (m *matcher) cut(r *result, data []byte, at int32, end int, final bool) {
	if end == len(data) {
		return // what may go on is held back in any case
	}
	marked, decided := ellipsis(data[end:], final)
	if decided && !marked {
		return
	}
	n := &m.trie.nodes[at]
	for n.depth >= cutSize && n.owner == 0 {
		if n.out != 0 && m.patterns[n.out-1].kept {
			return
		}
		n = &m.trie.nodes[n.fail]
	}
	start := end - int(n.depth)
	switch {
	case n.depth < cutSize:
	case !decided:
		r.settled = min(r.settled, start)
	default:
		r.add(run{start, end, m.patterns[n.owner-1].name})
	}
}

// ellipsis reports whether a text begins with an ellipsis, and whether that is certain.
func ellipsis(text []byte, final bool) (found, decided bool) {
	decided = true
	for _, e := range ellipses {
		switch {
		case bytes.HasPrefix(text, e):
			return true, true
		case !final && bytes.HasPrefix(e, text):
			decided = false
		}
	}
	return false, decided
}

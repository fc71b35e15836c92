package cassette

import (
	"cmp"
	"slices"
	"strings"
)

// longID is an id that is replaced wherever text mentions it.
type longID struct {
	own, name string
	rank      int     // of its first appearance
	shorter   *longID // the longest other id that this one begins with
}

// idIndex finds ids in text. It is sorted by the agent's own names, each of which it has once.
type idIndex []*longID

// newIDIndex returns the index of ids in the order of their appearance; of equal ones the first counts.
func newIDIndex(ids []longID) idIndex {
	x := make(idIndex, len(ids))
	for i, id := range ids {
		id.rank = i
		x[i] = &id
	}
	slices.SortStableFunc(x, func(a, b *longID) int { return strings.Compare(a.own, b.own) })
	x = slices.CompactFunc(x, func(a, b *longID) bool { return a.own == b.own })
	var last *longID
	for _, id := range x {
		for last != nil && !strings.HasPrefix(id.own, last.own) {
			last = last.shorter
		}
		id.shorter, last = last, id
	}
	return x
}

// mention is a place in text where an id stands as a word of its own.
type mention struct {
	*longID
	start int
}

func (m mention) end() int { return m.start + len(m.own) }

// replace replaces the ids that s mentions by their names, as if one id was replaced after the other, longest first.
func (x idIndex) replace(s string) string {
	found := x.mentions(s)
	if len(found) == 0 {
		return s
	}
	var b strings.Builder
	done := 0
	for _, m := range apart(found) {
		b.WriteString(s[done:m.start])
		b.WriteString(m.name)
		done = m.end()
	}
	b.WriteString(s[done:])
	return b.String()
}

// mentions returns all mentions in s by their starts, those within others, too.
func (x idIndex) mentions(s string) []mention {
	if len(x) == 0 {
		return nil
	}
	var found []mention
	inWord := false
	for i, r := range s {
		if !inWord {
			for id := x.before(s[i:]); id != nil; id = id.shorter {
				if strings.HasPrefix(s[i:], id.own) && wordEnds(s[i+len(id.own):]) {
					found = append(found, mention{id, i})
				}
			}
		}
		inWord = isWord(r)
	}
	return found
}

// before returns the last id that does not sort behind s, nil if there is none. The ids that s begins with are among it
// and its shorter ones: what sorts between a beginning of s and s has that beginning as well.
func (x idIndex) before(s string) *longID {
	i, exact := slices.BinarySearchFunc(x, s, func(id *longID, s string) int { return strings.Compare(id.own, s) })
	switch {
	case exact:
		return x[i]
	case i > 0:
		return x[i-1]
	}
	return nil
}

// apart returns those of the mentions that are replaced, by their starts.
func apart(found []mention) []mention {
	var replaced []mention
	for len(found) > 0 {
		n, end := 1, found[0].end()
		for n < len(found) && found[n].start <= end {
			end = max(end, found[n].end())
			n++
		}
		if n == 1 {
			replaced = append(replaced, found[0])
		} else {
			replaced = append(replaced, separate(found[:n], end)...)
		}
		found = found[n:]
	}
	return replaced
}

// separate chooses from mentions that overlap or touch each other, up to end. The longest comes first, of equally long
// ones that of the older id. The name that replaces it is a word, and so what touches it no longer stands for itself,
// except for the same id again.
func separate(found []mention, end int) []mention {
	base := found[0].start
	found = slices.Clone(found)
	slices.SortFunc(found, func(a, b mention) int {
		return cmp.Or(cmp.Compare(len(b.own), len(a.own)), cmp.Compare(a.rank, b.rank), cmp.Compare(a.start, b.start))
	})
	owners := make([]*longID, 1+end-base+1) // of each byte, and of those beside them
	var chosen []mention
	for _, m := range found {
		own := owners[m.start-base+1 : m.end()-base+1]
		left, right := owners[m.start-base], owners[m.end()-base+1]
		// Those chosen before are no shorter: one that overlaps has the first byte or the last.
		free := own[0] == nil && own[len(own)-1] == nil
		if free && (left == nil || left == m.longID) && (right == nil || right == m.longID) {
			for i := range own {
				own[i] = m.longID
			}
			chosen = append(chosen, m)
		}
	}
	slices.SortFunc(chosen, func(a, b mention) int { return cmp.Compare(a.start, b.start) })
	return chosen
}

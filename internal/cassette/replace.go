package cassette

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// replaceWhole replaces old by to where it stands for itself: starts has to hold for the text before, ends for the text
// behind.
func replaceWhole(s, old, to string, starts, ends func(string) bool) string {
	var b strings.Builder
	done := 0
	for at := 0; ; {
		i := strings.Index(s[at:], old)
		if i < 0 {
			break
		}
		begin, end := at+i, at+i+len(old)
		if starts(s[:begin]) && ends(s[end:]) {
			b.WriteString(s[done:begin])
			b.WriteString(to)
			done, at = end, end
		} else {
			at = begin + 1
		}
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// wordEnds tells whether no word goes on at the beginning of this text.
func wordEnds(behind string) bool {
	r, _ := utf8.DecodeRuneInString(behind)
	return !isWord(r)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// beforePath is text behind which an absolute path may begin although it ends in a letter: an option, an escape in a
// quoted string, a colour.
var beforePath = lazyregexp.New(`(^|[\s"'])-[A-Za-z]$|\\[nrt]$|\x1b\[[0-9;]*m$`)

// pathStarts tells whether an absolute path may begin behind this text: in /src/tmp there is no /tmp.
func pathStarts(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	if !isWord(r) {
		return !strings.ContainsRune("_.~*})", r)
	}
	return beforePath.MatchString(before[max(0, len(before)-16):])
}

// pathEnds tells whether a path ends, or goes on with another part, before this text: /tmp/ws2 and /tmp/ws.bak are not
// below /tmp/ws, but a path may be the end of a sentence.
func pathEnds(behind string) bool {
	r, size := utf8.DecodeRuneInString(behind)
	if strings.ContainsRune(".-+@%~", r) {
		r, _ = utf8.DecodeRuneInString(behind[size:])
	}
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
		return true // text without spaces
	}
	return !isWord(r) && r != '_'
}

// foldMatches replaces the matches of p by [Placeholder], but for those that cut one apart.
func foldMatches(s string, p *regexp.Regexp) string {
	matches := p.FindAllStringIndex(s, -1)
	if len(matches) == 0 {
		return s
	}
	var b strings.Builder
	done, mark := 0, nextPlaceholder(s, 0)
	for _, m := range matches {
		cut := false
		for ; mark < m[1] && !cut; mark = nextPlaceholder(s, mark+len(Placeholder)) {
			end := mark + len(Placeholder)
			if cut = mark < m[0] && m[0] < end || m[1] < end; cut {
				break // the next match may cut the same one
			}
		}
		if m[0] < m[1] && !cut {
			b.WriteString(s[done:m[0]])
			b.WriteString(Placeholder)
			done = m[1]
		}
	}
	b.WriteString(s[done:])
	return b.String()
}

// nextPlaceholder returns where the first placeholder of s begins at or after from, len(s) if there is none.
func nextPlaceholder(s string, from int) int {
	if i := strings.Index(s[from:], Placeholder); i >= 0 {
		return from + i
	}
	return len(s)
}

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

// Restore returns a normalised text with the directories of this run for their names. Normalised, it is the text again.
func (n *Normaliser) Restore(text string) string {
	for _, d := range n.given {
		text = replaceWhole(text, d.name, d.dir, pathStarts, pathEnds)
	}
	return text
}

// RestoreValue returns a copy of decoded JSON with every string in it restored, see [Normaliser.Restore]. Keys stay.
func (n *Normaliser) RestoreValue(v any) any {
	switch v := v.(type) {
	case string:
		return n.Restore(v)
	case []any:
		list := make([]any, len(v))
		for i, e := range v {
			list[i] = n.RestoreValue(e)
		}
		return list
	case map[string]any:
		fields := make(map[string]any, len(v))
		for k, e := range v {
			fields[k] = n.RestoreValue(e)
		}
		return fields
	}
	return v
}

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

// replaceWhole replaces old by to wherever starts holds for the text before it and ends for the text after it.
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

// wordEnds reports whether a word before this text ends there.
func wordEnds(after string) bool {
	r, _ := utf8.DecodeRuneInString(after)
	return !isWord(r)
}

func isWord(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// beforePath matches text after which an absolute path may begin although it ends in a letter: an option, one of the
// sides of a diff (Copilot writes "a/src/x" for /src/x), an escape in a quoted string, a colour.
var beforePath = lazyregexp.New(`(^|[\s"'])(-[A-Za-z]|[ab])$|\\[nrt]$|\x1b\[[0-9;]*m$`)

// pathStarts reports whether an absolute path may begin after this text: /src/tmp does not contain the path /tmp.
func pathStarts(before string) bool {
	r, _ := utf8.DecodeLastRuneInString(before)
	if !isWord(r) {
		return !strings.ContainsRune("_.~*})", r)
	}
	return beforePath.MatchString(before[max(0, len(before)-16):])
}

// pathEnds reports whether a path, or one of its elements, ends before this text: /tmp/ws2 and /tmp/ws.bak are not
// below /tmp/ws, but a path may end a sentence.
func pathEnds(after string) bool {
	r, size := utf8.DecodeRuneInString(after)
	if strings.ContainsRune(".-+@%~", r) {
		r, _ = utf8.DecodeRuneInString(after[size:])
	}
	if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
		return true // text without spaces
	}
	return !isWord(r) && r != '_'
}

// foldMatches replaces the matches of p by [Placeholder], except those that contain only a part of a placeholder.
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
				break // the next match may cut the same placeholder
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
	own     string  // the agent's id
	name    string  // our number for it
	rank    int     // position in the order of first appearance
	shorter *longID // the longest other id that is a prefix of this one
}

// idIndex finds ids in text. It is sorted by the agent's ids, without duplicates.
type idIndex []*longID

// newIDIndex returns the index of ids, which are in the order of their appearance. Of equal ids it keeps the first.
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

// replace replaces the ids in s by their names, as if one id was replaced after the other, longest first.
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

// mentions returns all mentions in s, also those within others, sorted by where they start.
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

// before returns the last id that does not sort after s, nil if there is none. The ids that are prefixes of s are this
// id and its shorter ones: any text that sorts between a prefix of s and s has that prefix, too.
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

// apart returns the mentions to replace, which do not overlap, sorted by where they start.
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

// separate chooses from mentions that overlap or touch each other, up to end. The longest comes first, then that of the
// older id. Its name is a word, so a mention that touches it is no longer a word of its own, unless it is of the same
// id.
func separate(found []mention, end int) []mention {
	base := found[0].start
	found = slices.Clone(found)
	slices.SortFunc(found, func(a, b mention) int {
		return cmp.Or(cmp.Compare(len(b.own), len(a.own)), cmp.Compare(a.rank, b.rank), cmp.Compare(a.start, b.start))
	})
	owners := make([]*longID, 1+end-base+1) // the chosen id at each byte, with one more on either side
	var chosen []mention
	for _, m := range found {
		own := owners[m.start-base+1 : m.end()-base+1]
		left, right := owners[m.start-base], owners[m.end()-base+1]
		// Mentions chosen before are no shorter, so one that overlaps has the first byte or the last.
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

// Restore replaces the names of directories in a normalised text by the directories of this run. Normalising reverses
// it.
func (n *Normaliser) Restore(text string) string {
	for _, d := range n.given {
		text = replaceWhole(text, d.name, d.dir, pathStarts, pathEnds)
	}
	return text
}

// RestoreValue returns a copy of decoded JSON with every string in it, except keys, restored. See [Normaliser.Restore].
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

package cassette

import (
	"regexp"
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

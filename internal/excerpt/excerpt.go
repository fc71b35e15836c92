// Package excerpt shortens texts of others for people: it cuts them between characters and marks the cut with an
// ellipsis. Except for Head and Bytes, it also makes sure that a text cannot control a terminal or look like a line of
// our own. [Tail] keeps the end of a program's output. The package masks no secrets: see package secret.
package excerpt

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const ellipsis = "…"

// Head returns the first characters of a text, at most limit.
func Head(text string, limit int) string {
	head, rest := split(text, limit)
	return head + rest
}

// Bytes returns the beginning of a text in at most limit bytes, the ellipsis included.
func Bytes(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len(ellipsis)], "") + ellipsis
}

// Line returns the first characters of a text, at most limit, as one line: white space becomes one space, and
// characters that are not printable become U+FFFD.
func Line(text string, limit int) string {
	line := strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return unicode.ReplacementChar
		}
		return r
	}, Head(line, limit))
}

// Visible returns the first characters of a line, at most limit. It escapes characters that are not printable, except
// tabs.
func Visible(line string, limit int) string {
	var b strings.Builder
	for _, r := range Head(line, limit) {
		if r == '\t' || unicode.IsPrint(r) {
			b.WriteRune(r)
		} else {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
		}
	}
	return b.String()
}

// Quote returns the first characters of a text, at most limit, in quotes. The ellipsis follows the closing quote.
func Quote(text string, limit int) string {
	head, rest := split(text, limit)
	return strconv.Quote(head) + rest
}

// Name returns the first characters of a name, at most limit, in quotes if the name is empty or not printable.
func Name(name string, limit int) string {
	unprintable := func(r rune) bool { return !unicode.IsPrint(r) }
	if name == "" || !utf8.ValidString(name) || strings.ContainsFunc(name, unprintable) {
		return Quote(name, limit)
	}
	return Head(name, limit)
}

// Apart shows two different texts so that their first difference is visible. If one of them has more characters than
// limit, it leaves out the beginning of both, except for the given number of characters before the difference.
func Apart(a, b string, limit, before int, show func(string) string) (string, string) {
	from := 0
	if max(utf8.RuneCountInString(a), utf8.RuneCountInString(b)) > limit {
		from = parting(a, b)
		for range before {
			_, size := utf8.DecodeLastRuneInString(a[:from])
			from -= size
		}
	}
	if from == 0 {
		return show(a), show(b)
	}
	return ellipsis + show(a[from:]), ellipsis + show(b[from:])
}

// FirstLines returns the first line in which two different texts differ, with its line break, and its number from 1.
func FirstLines(a, b string) (number int, lineA, lineB string) {
	same := a[:parting(a, b)]
	start := strings.LastIndexByte(same, '\n') + 1
	first := func(text string) string {
		line, _, ended := strings.Cut(text, "\n")
		if ended {
			line += "\n"
		}
		return line
	}
	return 1 + strings.Count(same, "\n"), first(a[start:]), first(b[start:])
}

// parting returns the offset of the first character in which two texts differ.
func parting(a, b string) int {
	at := 0
	for at < len(a) {
		r, size := utf8.DecodeRuneInString(a[at:])
		if other, n := utf8.DecodeRuneInString(b[at:]); other != r || n != size {
			break
		}
		at += size
	}
	return at
}

// split returns the first characters of a text, at most limit, and an ellipsis if there are more.
func split(text string, limit int) (head, rest string) {
	n := 0
	for i := range text {
		if n == limit {
			return text[:i], ellipsis
		}
		n++
	}
	return text, ""
}

// Tail keeps the last bytes of what is written to it.
type Tail struct {
	Limit int // in bytes

	mu  sync.Mutex
	buf []byte // at most twice the limit and one write
	cut bool   // bytes were dropped
}

// Write implements [io.Writer]. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*t.Limit { // not at every write, so that a byte is moved at most twice
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.Limit:]...)
		t.cut = true
	}
	return len(p), nil
}

// Text returns the last Limit bytes as valid UTF-8, with U+FFFD for invalid bytes. It may return a few bytes less, so
// that the text begins with a whole character. Unless the output is final, it leaves out an incomplete character at the
// end.
func (t *Tail) Text(final bool) (text string, truncated bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	b, truncated := t.buf, t.cut
	if len(b) > t.Limit {
		b, truncated = b[len(b)-t.Limit:], true
	}
	if truncated {
		b = b[partialStart(b):]
	}
	if !final {
		b = b[:len(b)-partialEnd(b)]
	}
	text = strings.ToValidUTF8(string(b), string(utf8.RuneError))
	if over := len(text) - t.Limit; over > 0 { // U+FFFD is longer than what it replaces
		text, truncated = text[over:], true
		text = text[partialStart([]byte(text[:min(len(text), utf8.UTFMax)])):]
	}
	return text, truncated
}

// partialStart returns how many bytes at the beginning of b can be the rest of a character.
func partialStart(b []byte) int {
	n := 0
	for n < len(b) && n < utf8.UTFMax-1 && !utf8.RuneStart(b[n]) {
		n++
	}
	return n
}

// partialEnd returns how many bytes at the end of b can be the beginning of a character.
func partialEnd(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n:]; utf8.RuneStart(c[0]) {
			if utf8.FullRune(c) {
				return 0
			}
			return n
		}
	}
	return 0
}

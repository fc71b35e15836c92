package excerpt

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// Tail keeps the last bytes of what is written to it.
type Tail struct {
	Limit int // in bytes

	mu  sync.Mutex
	buf []byte // at most twice the limit and one write
	cut bool   // something was dropped
}

// Write implements [io.Writer]. It never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if len(t.buf) > 2*t.Limit { // not at every write, so that a byte is moved once or twice and not over and over
		t.buf = append(t.buf[:0], t.buf[len(t.buf)-t.Limit:]...)
		t.cut = true
	}
	return len(p), nil
}

// Text returns the last Limit bytes, or a few less in order not to begin within a character, as valid UTF-8: what is
// not, reads as U+FFFD. The part of a character at the end is held back unless the output is final.
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

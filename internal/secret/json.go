package secret

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// JSON masks JSON, which may be several values one after the other. It searches decoded strings, keys of objects
// included, so a secret is found however it is escaped, and the result is JSON again. Everything else stays as it is
// written, numbers and order included. A number that contains a secret becomes a string. Text that does not consist of
// JSON tokens is masked as by [Set.Bytes]. The result is raw itself if there is nothing to mask.
func (s *Set) JSON(raw []byte) []byte {
	var w walk
	return w.mask(s.matcher(), raw)
}

// walk goes through the tokens of JSON. It can be used again when its last result is no longer needed.
type walk struct {
	m      *matcher
	raw    []byte
	masked []byte // raw[:copied], masked
	copied int
	text   []byte // for a decoded string
	// guesses masks what is guessed, too. key is the last string then, if it may be the key of the next one.
	guesses bool
	key     []byte
}

// mask returns raw masked. With a nil matcher there is nothing to mask.
func (w *walk) mask(m *matcher, raw []byte) []byte {
	if m == nil || !w.guesses && !m.heads.inJSON(raw) {
		return raw
	}
	w.m, w.raw, w.masked, w.copied = m, raw, w.masked[:0], 0
	if !w.run() {
		masked, _ := m.mask(raw)
		if w.guesses {
			masked = maskGuessed(masked)
		}
		return masked
	}
	if w.copied == 0 {
		return raw
	}
	w.masked = append(w.masked, raw[w.copied:]...)
	return w.masked
}

// run masks the tokens of raw. It reports whether raw consists of JSON tokens.
func (w *walk) run() bool {
	for at, ok := 0, true; at < len(w.raw); {
		switch kinds[w.raw[at]] {
		case mark:
			if c := w.raw[at]; c == ',' || c == '{' || c == '[' {
				w.key = w.key[:0]
			}
			at++
		case quote:
			at, ok = w.string(at)
		case word:
			at, ok = w.word(at)
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return true
}

// kind is the kind of JSON token that a byte can be part of.
type kind uint8

const (
	mark  kind = iota + 1 // a token by itself, or white space
	quote                 // the beginning of a string
	word                  // numbers, true, false and null
)

var kinds = func() (all [256]kind) {
	for k, chars := range []string{mark: "{}[]:, \t\r\n", quote: `"`, word: "0123456789+-.eEtrufalsn"} {
		for _, c := range []byte(chars) {
			all[c] = kind(k)
		}
	}
	return all
}()

// word masks the number or the literal at w.raw[at] and returns its end.
func (w *walk) word(at int) (end int, ok bool) {
	for end = at; end < len(w.raw) && kinds[w.raw[end]] == word; {
		end++
	}
	token := w.raw[at:end]
	if token[0] == '-' || '0' <= token[0] && token[0] <= '9' {
		w.replace(at, token, end)
		return end, true
	}
	switch string(token) {
	case "true", "false", "null":
		return end, true
	}
	return end, false
}

// string masks the string at w.raw[at] and returns its end.
func (w *walk) string(at int) (end int, ok bool) {
	start := at + 1
	size := bytes.IndexByte(w.raw[start:], '"')
	if size < 0 {
		return 0, false
	}
	text, end := w.raw[start:start+size], start+size
	if bytes.IndexByte(text, '\\') >= 0 {
		if end, ok = w.unescape(start, end); !ok {
			return 0, false
		}
		text = w.text
	}
	w.replace(at, text, end+1)
	return end + 1, true
}

// replace replaces w.raw[at:end] by a string if there is something to mask in text, which is its decoded value.
func (w *walk) replace(at int, text []byte, end int) {
	masked, changed := w.m.mask(text)
	if w.guesses {
		masked, changed = w.guess(masked, changed)
	}
	if !changed {
		return
	}
	w.masked = append(w.masked, w.raw[w.copied:at]...)
	w.masked = appendQuoted(w.masked, masked)
	w.copied = end
}

// guess masks what is guessed in a string. It may be the value of the key before it.
func (w *walk) guess(text []byte, changed bool) (masked []byte, masks bool) {
	key := strings.ToLower(string(w.key))
	w.key = append(w.key[:0], text[:min(len(text), 100)]...)
	if credentialName(key) {
		if g, ok := assigned(text, 0, key); ok {
			return slices.Concat(text[:g.start], []byte(placeholder(keyName)), text[g.end:]), true
		}
	}
	masked = maskGuessed(text)
	return masked, changed || !bytes.Equal(masked, text)
}

// unescape decodes into w.text the string that begins, after its quote, at w.raw[at], and returns its end. The first
// quote from there on is at w.raw[end].
func (w *walk) unescape(at, end int) (int, bool) {
	w.text = w.text[:0]
	for {
		size := bytes.IndexByte(w.raw[at:end], '\\')
		if size < 0 {
			w.text = append(w.text, w.raw[at:end]...)
			return end, true
		}
		w.text = append(w.text, w.raw[at:at+size]...)
		at += size
		size = w.escape(w.raw[at:])
		if size == 0 {
			return 0, false
		}
		if at += size; at > end { // the quote was escaped
			next := bytes.IndexByte(w.raw[at:], '"')
			if next < 0 {
				return 0, false
			}
			end = at + next
		}
	}
}

// escape decodes the escape with which raw begins, appends it to w.text and returns its size, or 0 if it is invalid.
func (w *walk) escape(raw []byte) (size int) {
	if len(raw) < 2 {
		return 0
	}
	if raw[1] != 'u' {
		meaning := escapes[raw[1]]
		if meaning == 0 {
			return 0
		}
		w.text = append(w.text, meaning)
		return 2
	}
	unit, ok := codeUnit(raw)
	if !ok {
		return 0
	}
	size = len(`\u0000`)
	if utf16.IsSurrogate(unit) {
		low, _ := codeUnit(raw[size:])
		if r := utf16.DecodeRune(unit, low); r != utf8.RuneError {
			w.text = utf8.AppendRune(w.text, r)
			return 2 * size
		}
	}
	w.text = utf8.AppendRune(w.text, unit) // half a pair becomes U+FFFD
	return size
}

// escapes has the bytes that \b and so on mean, and 0 for bytes that are no escapes.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// codeUnit returns the XXXX of the \uXXXX with which raw begins.
func codeUnit(raw []byte) (unit rune, ok bool) {
	if len(raw) < len(`\u0000`) || raw[0] != '\\' || raw[1] != 'u' {
		return 0, false
	}
	var b [2]byte
	if _, err := hex.Decode(b[:], raw[2:6]); err != nil {
		return 0, false
	}
	return rune(b[0])<<8 | rune(b[1]), true
}

// appendQuoted appends text as a string of JSON. It escapes only the bytes that must be escaped.
func appendQuoted(dst, text []byte) []byte {
	dst = append(dst, '"')
	for _, b := range text {
		switch {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
		case b >= 0x20:
			dst = append(dst, b)
		case '\b' <= b && b <= '\r' && b != '\v':
			dst = append(dst, '\\', "btn fr"[b-'\b'])
		default:
			dst = fmt.Appendf(dst, `\u%04x`, b)
		}
	}
	return append(dst, '"')
}

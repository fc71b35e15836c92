package secret

import (
	"bytes"
	"slices"
	"strings"
)

// Guessed is text that is a credential by what stands before it, whatever it looks like itself: the password in a URL,
// what an Authorization header says, and what is assigned to a name such as API_KEY. Ordinary code has such text, too,
// so it is masked only where nobody works with the text: in logs, captures and imports.

// GuessJSON is [Set.JSON] for logs, captures and imports: it also masks what is guessed.
func (s *Set) GuessJSON(raw []byte) []byte {
	w := walk{guesses: true}
	return w.mask(s.matcher(), raw)
}

// Guess is [Set.String] for logs, captures and imports: it also masks what is guessed.
func (s *Set) Guess(text string) string {
	text = s.String(text)
	if s == nil {
		return text
	}
	return string(maskGuessed([]byte(text)))
}

// maskGuessed returns the text without what is guessed, or the text itself.
func maskGuessed(text []byte) []byte {
	found := guess(text)
	if len(found) == 0 {
		return text
	}
	var masked []byte
	at := 0
	for _, f := range found {
		masked = append(append(masked, text[at:f.start]...), placeholder(keyName)...)
		at = f.end
	}
	return append(masked, text[at:]...)
}

// guessed is a part of a text.
type guessed struct{ start, end int }

// guess returns what is guessed, in order.
func guess(text []byte) (found []guessed) {
	for at := 0; at < len(text); {
		i := bytes.IndexAny(text[at:], "=:")
		if i < 0 {
			break
		}
		i += at
		at = i + 1
		g, ok := guessed{}, false
		if bytes.HasPrefix(text[i:], []byte("://")) {
			g, ok = urlPassword(text, i+3)
		} else if name := nameBefore(text, i); credentialName(name) {
			g, ok = assigned(text, i+1, name)
		}
		if ok {
			found = append(found, g)
			at = g.end
		}
	}
	return found
}

// maxGuessed bounds, in bytes, how far a name or a value is followed.
const maxGuessed = 4 << 10

// urlPassword returns the password of a URL whose authority begins at text[at].
func urlPassword(text []byte, at int) (g guessed, ok bool) {
	end := at
	for end < min(len(text), at+maxGuessed) && !ends(text[end]) && text[end] != '/' && text[end] != '@' {
		end++
	}
	if end == len(text) || text[end] != '@' {
		return g, false
	}
	user, password, ok := bytes.Cut(text[at:end], []byte(":"))
	if !ok || len(password) < 4 || bytes.Equal(user, password) || isTemplate(password) {
		return g, false
	}
	return guessed{end - len(password), end}, true
}

// nameBefore returns the name that something is assigned to, in lower case: what stands before text[at], perhaps in
// quotes.
func nameBefore(text []byte, at int) string {
	end := at
	for end > max(0, at-4) && strings.IndexByte(" \"'`\\", text[end-1]) >= 0 {
		end--
	}
	start := end
	for start > max(0, end-100) && (wordByte(text[start-1]) || text[start-1] == '-') {
		start--
	}
	return strings.ToLower(string(text[start:end]))
}

// authorization is the name of the header with a scheme before its value.
const authorization = "authorization"

// credentialName reports whether what is assigned to a name, in lower case, is a credential. Package environ knows
// variables of ours; this is for names in any text, where a token may be a word of a language.
func credentialName(name string) bool {
	if strings.HasSuffix(name, "apikey") || strings.HasSuffix(name, authorization) {
		return true
	}
	at := strings.LastIndexAny(name, "_-")
	if at < 0 {
		return slices.Contains([]string{"password", "passwd"}, name)
	}
	return slices.Contains([]string{"key", "token", "secret", "password", "passwd", "pwd", "pat"}, name[at+1:])
}

// assigned returns the value at text[at], which is assigned to a name.
func assigned(text []byte, at int, name string) (g guessed, ok bool) {
	for at < len(text) && strings.IndexByte(" \t\"'`\\", text[at]) >= 0 {
		at++
	}
	said := 0
	if strings.HasSuffix(name, authorization) {
		said = scheme(text[at:])
		at += said
	}
	end := at
	for end < min(len(text), at+maxGuessed) && !ends(text[end]) {
		end++
	}
	value := text[at:end]
	digits := bytes.ContainsAny(value, "0123456789")
	return guessed{at, end}, len(value) >= wordSize && !isTemplate(value) && (digits || said > 0)
}

// scheme returns the size of the scheme, such as Bearer, that a header's value begins with.
func scheme(value []byte) int {
	for _, s := range []string{"bearer ", "basic ", "token "} {
		if len(value) > len(s) && strings.EqualFold(string(value[:len(s)]), s) {
			return len(s)
		}
	}
	return 0
}

// ends reports whether a value ends before a byte.
func ends(b byte) bool { return b <= ' ' || strings.IndexByte("\"'`\\,;&)}]<>", b) >= 0 }

// isTemplate reports whether a value stands for another one: a variable, a call, or a placeholder of ours.
func isTemplate(value []byte) bool { return bytes.ContainsAny(value, "$({[%*") }

// Suspect returns where in a text there is the first credential that nobody has named, or -1: text that looks like a
// key and, if guesses is set, what is guessed.
func (s *Set) Suspect(text []byte, guesses bool) int {
	m := s.matcher()
	if m == nil {
		return -1
	}
	var at []int
	for _, k := range m.scan(text, 0, true).keys {
		at = append(at, k.start)
	}
	if guesses {
		for _, g := range guess(text) {
			at = append(at, g.start)
		}
	}
	if len(at) == 0 {
		return -1
	}
	return slices.Min(at)
}

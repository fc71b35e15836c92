// Package secret keeps secrets out of everything that is written. Which variables look like credentials is decided by
// package environ.
//
//	var secrets secret.Set
//	secrets.AddEnvironment(os.Environ())
//	secrets.Add("ANTHROPIC_AUTH_TOKEN", token)
//	err := secrets.WriteFile(path, data, 0o644)
//	log := secrets.Lines(file)
//	defer log.Close()
//
// A masked secret becomes [REDACTED:NAME], with its name. Text that looks like a well-known kind of key becomes
// [REDACTED:key], even if the set does not know it.
//
// A secret is found as it is, and each line of a multi-line secret by itself. It is also found as it is written in JSON
// (and in JSON inside a JSON string), in XML and HTML (also around JSON or in it), in Go's %q, in Python's repr (also
// in JSON), in URLs, in base64, whatever is encoded before and after it, and in hex. The beginning of one, 8 bytes or
// more, is found if an ellipsis follows it: texts are cut before they are masked. It is not found compressed,
// encrypted, reversed, in other pieces, or in base64 broken into lines.
//
// Where secrets overlap, one placeholder replaces all the text that they cover. It has the name of the secret that
// begins first and, of several such, of the longest. So nothing remains of a secret that overlaps another or is inside
// it. Masking again leaves placeholders unchanged.
package secret

import (
	"iter"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sdd-eval/sdd-eval/internal/environ"
	"github.com/sdd-eval/sdd-eval/internal/lazyregexp"
)

// Set is a set of secrets to mask. The zero value knows no secret and masks text that looks like a key; a nil Set masks
// nothing. All methods may be called at any time by several goroutines. A secret is masked in every call that begins
// after it was added.
type Set struct {
	mu      sync.Mutex
	secrets map[string]string // names by value
	given   []string          // keys that are none
	// compiled finds the secrets. It is nil if they have changed.
	compiled atomic.Pointer[matcher]
}

// Add adds the value of a variable, unless it is a plain setting such as a model's name (see plain), or is shorter than
// 8 bytes and does not look like a credential. The password in a URL is added, too, unless it is short or equal to the
// user's name.
func (s *Set) Add(name, value string) {
	value = strings.TrimSpace(value)
	credential := environ.IsCredential(name, value)
	if plain(name, value, credential) || len(value) < wordSize && !credential {
		return
	}
	s.Mark(name, value)
	if password, ok := passwordInURL(value); ok {
		s.Mark(name, password)
	}
}

// Mark adds a value that is secret whatever it looks like. A value shorter than 8 bytes is masked only as a whole word.
// White space around the value is ignored, and so is an empty value.
func (s *Set) Mark(name, value string) {
	value = strings.TrimSpace(value)
	if value == "" {
		return
	}
	name = placeholderName(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.secrets[value]; ok && known <= name {
		return // of several names the alphabetically first counts, in whatever order they are added
	}
	if s.secrets == nil {
		s.secrets = make(map[string]string)
	}
	s.secrets[value] = name
	s.compiled.Store(nil)
}

// AddEnvironment adds the variables, "NAME=value" each, that look like credentials. It skips short values: nobody chose
// them for this run, and DB_PASS=test would find secrets in every file that has a test.
func (s *Set) AddEnvironment(env []string) {
	for _, kv := range env {
		name, value, ok := strings.Cut(kv, "=")
		if ok && len(value) >= wordSize && environ.IsCredential(name, value) {
			s.Add(name, value)
		}
	}
}

// Len returns the number of secrets in the set. Secrets are never removed: if Len has not changed, nor have they.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.secrets)
}

// String returns the masked text.
func (s *Set) String(text string) string {
	data := []byte(text)
	masked, changed := s.mask(data)
	if !changed {
		return text
	}
	return string(masked)
}

// Bytes returns the masked text. The result is data itself if there is nothing to mask.
func (s *Set) Bytes(data []byte) []byte {
	masked, _ := s.mask(data)
	return masked
}

func (s *Set) mask(data []byte) (masked []byte, changed bool) {
	m := s.matcher()
	if m == nil {
		return data, false
	}
	return m.mask(data)
}

// Contains reports whether a secret is in the text, and the name of the first one. Text that merely looks like a key
// does not count.
func (s *Set) Contains(data []byte) (name string, found bool) {
	m := s.matcher()
	if m == nil {
		return "", false
	}
	if found := m.scan(data, 0, true); len(found.runs) > 0 {
		return found.runs[0].name, true
	}
	return "", false
}

// matcher returns the set's matcher, or nil if the set is nil.
func (s *Set) matcher() *matcher {
	if s == nil {
		return nil
	}
	if m := s.compiled.Load(); m != nil {
		return m
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	m := s.compiled.Load()
	if m == nil {
		m = compile(s.secrets, s.given)
		s.compiled.Store(m)
	}
	return m
}

// placeholderName returns a name that is safe in a placeholder in any text.
func placeholderName(name string) string {
	if name == "" {
		return "secret"
	}
	return strings.Map(func(r rune) rune {
		if r < 0x80 && (wordByte(byte(r)) || r == '-' || r == '.') {
			return r
		}
		return '_'
	}, name)
}

// placeholder returns the text that replaces a secret.
func placeholder(name string) string { return "[REDACTED:" + name + "]" }

// wordSize is the length in bytes from which on a secret is masked even inside a word.
const wordSize = 8

// wordByte reports whether b is part of a word. Bytes beyond ASCII are not: it is better to mask too much.
func wordByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_'
}

// values returns the texts to search for: the secret and, if it has several lines, each line that is long enough.
func values(secret string) []string {
	all := []string{secret}
	if !strings.ContainsAny(secret, "\r\n") {
		return all
	}
	for line := range lines(secret) {
		line = strings.TrimSpace(line)
		if len(line) >= wordSize && !strings.HasPrefix(line, "-----") { // -----BEGIN is no secret
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// lines returns the lines of a text that are not empty, however they end. None has a line's end in it.
func lines(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(text, func(r rune) bool { return r == '\r' || r == '\n' })
}

// plain reports whether a variable is a plain setting, which is not masked: masking 1 or a model's name would spoil
// every record and hide nothing. credential says whether the variable looks like a credential.
func plain(name, value string, credential bool) bool {
	words := strings.Split(strings.ToUpper(name), "_")
	last := words[len(words)-1]
	switch {
	case value == "" || slices.Contains(switches, strings.ToLower(value)):
		return true
	case number.MatchString(value):
		return len(value) < wordSize || slices.Contains(amounts, last)
	case hasKeyShape(value):
		return false
	case slices.Contains(pathNames, last) || name == "GOOGLE_APPLICATION_CREDENTIALS":
		return path.MatchString(value)
	case credential:
		return false
	case slices.ContainsFunc(words, func(w string) bool { return slices.Contains(identifiers, w) }):
		return identifier.MatchString(value)
	}
	return isBaseURL(value)
}

var (
	switches = []string{
		"0", "1", "true", "false", "yes", "no", "on", "off", "enabled", "disabled", "auto", "default", "none", "null",
	}
	// amounts end the names of numbers.
	amounts = []string{"TOKENS", "MS", "SECONDS", "TIMEOUT", "SIZE", "BYTES", "LIMIT"}
	number  = lazyregexp.New(`^-?[0-9]+(\.[0-9]+)?$`)
	// pathNames end the names of files and directories.
	pathNames = []string{"DIR", "FILE", "HOME", "PATH", "SHELL", "SOCK"}
	path      = lazyregexp.New(`^(/|~/|\./|[A-Za-z]:\\)[^\n]*$`)
	// identifiers are words in the names of variables for models, regions and the like.
	identifiers = []string{"MODEL", "REGION", "LOCATION", "PROVIDER", "DEPLOYMENT", "VERSION"}
	identifier  = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._:/@\[\]-]{0,127}$`)
)

// isBaseURL reports whether the value is the address of a service without anything that could be a key.
func isBaseURL(value string) bool {
	u, err := url.Parse(value)
	if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return false
	}
	return slices.Contains([]string{"http", "https", "ws", "wss"}, u.Scheme) && !opaque.MatchString(u.Path)
}

// opaque matches a part of a path that may be a key, because people do not write such words.
var opaque = lazyregexp.New(`[A-Za-z0-9]{20}`)

var userInfo = lazyregexp.New(`://([^/@\s:]*):([^/@\s]+)@`)

// passwordInURL returns the password of the first URL in value, if it should be masked by itself: passwords of
// development, such as in postgres:postgres, would be masked in every other line.
func passwordInURL(value string) (password string, ok bool) {
	found := userInfo.FindStringSubmatch(value)
	if found == nil {
		return "", false
	}
	user, password := found[1], found[2]
	if decoded, err := url.PathUnescape(password); err == nil {
		password = decoded
	}
	return password, len(password) >= wordSize && password != user
}

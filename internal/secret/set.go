package secret

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/sdd-eval/sdd-eval/internal/sandbox"
)

// Set is a set of secrets to be masked. The zero value knows no secret and masks what has the shape of a key; a nil Set
// masks nothing. All methods may be called at any time, by several goroutines: what is masked from then on is masked with
// the secrets that were added before.
type Set struct {
	mu      sync.Mutex
	secrets map[string]string // names by value
	// compiled is what finds the secrets; nil: they have changed.
	compiled atomic.Pointer[matcher]
}

// Add adds the value of a variable, unless it is a plain setting such as a model's name (see plain) or is shorter than 8
// characters and the name does not look like a credential's. Of a URL with a password that is a secret too, unless it is
// short or the user's name.
func (s *Set) Add(name, value string) {
	value = strings.TrimSpace(value)
	credential := sandbox.IsCredential(name, value)
	if plain(name, value, credential) || len(value) < wordSize && !credential {
		return
	}
	s.Mark(name, value)
	if password, ok := passwordInURL(value); ok {
		s.Mark(name, password)
	}
}

// Mark adds a value that is secret whatever it looks like. One shorter than 8 characters is masked only where it stands
// as a word of its own. White space around it does not count, and an empty value is none.
func (s *Set) Mark(name, value string) {
	value = strings.TrimSpace(value)
	if value == "" {
		return
	}
	name = placeholderName(name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if known, ok := s.secrets[value]; ok && known <= name {
		return // of several names the first in the alphabet counts, in whatever order they come
	}
	if s.secrets == nil {
		s.secrets = make(map[string]string)
	}
	s.secrets[value] = name
	s.compiled.Store(nil)
}

// AddEnvironment adds those variables, "NAME=value" each, that look like a credential. Short ones are left out: nobody
// chose them for this run, and a DB_PASS=test would find secrets in every file that has a test.
func (s *Set) AddEnvironment(environ []string) {
	for _, kv := range environ {
		name, value, ok := strings.Cut(kv, "=")
		if ok && len(value) >= wordSize && sandbox.IsCredential(name, value) {
			s.Add(name, value)
		}
	}
}

// Len returns how many secrets the set knows. None is ever forgotten: if it is the same as before, so are they.
func (s *Set) Len() int {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.secrets)
}

// String returns the text masked.
func (s *Set) String(text string) string {
	data := []byte(text)
	masked, changed := s.mask(data)
	if !changed {
		return text
	}
	return string(masked)
}

// Bytes returns the text masked. The result is data itself if there is nothing to mask.
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

// Contains reports whether a secret is in the text, and the name of the first one. What merely has the shape of a key is
// not a secret here.
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

// matcher returns what finds the secrets; nil: there is nothing to find.
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
		m = compile(s.secrets)
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

// placeholder is what replaces a secret.
func placeholder(name string) string { return "[REDACTED:" + name + "]" }

// wordSize is the length in bytes from which on a secret is masked wherever it stands.
const wordSize = 8

// wordByte reports whether b is part of a word. Bytes beyond ASCII are not: rather mask too much.
func wordByte(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b == '_'
}

// values returns the texts to search for: the secret's value and, if it has several lines, each that is long enough.
func values(secret string) []string {
	all := []string{secret}
	if !strings.ContainsAny(secret, "\r\n") {
		return all
	}
	for line := range strings.Lines(secret) {
		line = strings.TrimSpace(line)
		if len(line) >= wordSize && !strings.HasPrefix(line, "-----") { // -----BEGIN PRIVATE KEY----- is none
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

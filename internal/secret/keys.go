package secret

import "strings"

// keyName is the name in the placeholder of text that looks like a key.
const keyName = "key"

// shape is a well-known kind of key: a prefix that is not inside a word, followed by at least least bytes of a class.
// The key ends where the class ends. Fake keys of the same shape are masked as well. No prefix begins inside another
// one, so keys are found in order.
type shape struct {
	prefix string
	class  class
	least  int
}

var shapes = []shape{
	{"sk-", token, 20},         // OpenAI, and sk-ant- of Anthropic
	{"sk_live_", token, 16},    // Stripe
	{"ghp_", token, 30},        // GitHub, classic
	{"gho_", token, 30},        // GitHub, OAuth
	{"ghu_", token, 30},        // GitHub, an app for a user
	{"ghs_", token, 30},        // GitHub, an app
	{"ghr_", token, 30},        // GitHub, to refresh
	{"github_pat_", token, 22}, // GitHub, fine-grained
	{"glpat-", token, 20},      // GitLab
	{"npm_", token, 36},
	{"hf_", token, 30}, // Hugging Face
	{"AKIA", capitals, 16},
	{"ASIA", capitals, 16},
	{"xoxa-", token, 10}, // Slack
	{"xoxb-", token, 10},
	{"xoxp-", token, 10},
	{"xoxr-", token, 10},
	{"xoxs-", token, 10},
	{"AIza", token, 35},        // Google
	{"eyJhbGciOi", dotted, 16}, // a JWT's header: {"alg":
	{"eyJ0eXAiOi", dotted, 16}, // {"typ":
	{"eyJraWQiOi", dotted, 16}, // {"kid":
	{"eyJlbmMiOi", dotted, 16}, // {"enc":
	{"eyJjdHkiOi", dotted, 16}, // {"cty":
	{"eyJ4NXQiOi", dotted, 16}, // {"x5t":
	{"-----BEGIN PRIVATE KEY-----", block, 16},
	{"-----BEGIN RSA PRIVATE KEY-----", block, 16},
	{"-----BEGIN EC PRIVATE KEY-----", block, 16},
	{"-----BEGIN DSA PRIVATE KEY-----", block, 16},
	{"-----BEGIN OPENSSH PRIVATE KEY-----", block, 16},
	{"-----BEGIN ENCRYPTED PRIVATE KEY-----", block, 16},
	{"-----BEGIN PGP PRIVATE KEY BLOCK-----", block, 16},
}

// hasKeyShape reports whether the value begins like a key.
func hasKeyShape(value string) bool {
	for _, s := range shapes {
		if strings.HasPrefix(value, s.prefix) {
			return true
		}
	}
	return false
}

// class is a set of sets of bytes.
type class uint8

const (
	token    class = 1 << iota // letters, digits, - and _
	capitals                   // capital letters and digits
	dotted                     // token and dots
	block                      // the bytes of a PEM block, also in JSON or a diff, up to the dashes that end it
)

// classes has the classes of each byte.
var classes = func() (all [256]class) {
	for i := range all {
		b := byte(i)
		if wordByte(b) || b == '-' {
			all[b] |= token | dotted
		}
		if 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' {
			all[b] |= capitals
		}
		if wordByte(b) && b != '_' || strings.IndexByte("+/=-:,\\ \t\r\n", b) >= 0 {
			all[b] |= block
		}
	}
	all['.'] |= dotted
	return all
}()

// tail follows keys to their end, byte by byte.
type tail struct {
	open   class // the classes of the keys that have not ended
	dashes int   // in a block: the number of dashes just before this byte
	fences int   // in a block: the number of runs of dashes so far
}

// The dashes of a PEM block: two runs of five around BEGIN, two around END.
const (
	fenceSize = 5
	fences    = 4
)

// next takes the next byte, and reports whether it belongs to a key.
func (t *tail) next(b byte) bool {
	if t.open == 0 {
		return false
	}
	if t.fences == fences {
		t.open &^= block
	}
	t.open &= classes[b]
	if t.open&block != 0 {
		t.fence(b)
	}
	return t.open != 0
}

// begin takes the first byte of a key.
func (t *tail) begin(c class, b byte) {
	t.open |= c
	if c == block { // a block inside another one counts anew, or its end would be missed
		t.dashes, t.fences = 0, 0
		t.fence(b)
	}
}

func (t *tail) fence(b byte) {
	if b != '-' {
		t.dashes = 0
		return
	}
	if t.dashes++; t.dashes == fenceSize {
		t.fences++
	}
}

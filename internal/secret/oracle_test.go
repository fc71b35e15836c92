package secret

import (
	"bytes"
	"cmp"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// span is one secret, or one key with the name "", found by itself.
type span struct {
	start, end int
	name       string
	word       bool
}

// spans finds all secrets and keys one by one, without the trie.
func spans(secrets map[string]string, text string) (all []span) {
	data := []byte(text)
	texts := make(map[string]bool)
	for secret, name := range secrets {
		for _, value := range values(secret) {
			word := len(value) < wordSize
			for _, form := range forms(value, word) {
				texts[form] = true
				for at := range data {
					end := at + len(form)
					if !strings.HasPrefix(text[at:], form) {
						continue
					}
					if found, _ := isWord(data, at, end, true); found || !word {
						all = append(all, span{at, end, name, word})
					}
				}
			}
		}
	}
	for _, s := range shapes {
		for at := range data {
			end := at + len(s.prefix)
			if texts[s.prefix] || !strings.HasPrefix(text[at:], s.prefix) {
				continue
			}
			if found, _ := s.found(data, at, end, true); !found {
				continue
			}
			var t tail
			t.begin(&s, data[at])
			for end = at + 1; end < len(data) && t.next(data[end]); {
				end++
			}
			all = append(all, span{at, end, "", false})
		}
	}
	return all
}

// oracle masks a text as the package promises, slowly. It does not handle placeholders in the text, nor cuts.
func oracle(secrets map[string]string, text string) string {
	all := spans(secrets, text)
	slices.SortFunc(all, func(a, b span) int {
		return cmp.Or(a.start-b.start, -cmp.Compare(min(1, len(a.name)), min(1, len(b.name))), b.end-a.end,
			boolInt(a.word)-boolInt(b.word), strings.Compare(a.name, b.name))
	})
	var b strings.Builder
	at := 0
	for i := 0; i < len(all); {
		first, end := all[i], all[i].end
		for i++; i < len(all) && all[i].start < end; i++ {
			end = max(end, all[i].end)
		}
		b.WriteString(text[at:first.start] + placeholder(cmp.Or(first.name, keyName)))
		at = end
	}
	return b.String() + text[at:]
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// made returns secrets and a text that is full of them, of parts of them and of possible separators.
func made(seed uint64, recipe []byte) (map[string]string, string) {
	r := rand.New(rand.NewPCG(seed, 0))
	secrets := make(map[string]string)
	var found []string
	for _, name := range []string{"A", "B", "C", "D"}[:1+r.IntN(4)] {
		alphabet := []string{"ab", "ab-", "a\"\\", "é/+ <\n", "ABsk-_019"}[r.IntN(5)]
		chars := strings.Split(alphabet, "")
		var b strings.Builder
		for range 1 + r.IntN(13) {
			b.WriteString(chars[r.IntN(len(chars))])
		}
		if value := strings.TrimSpace(b.String()); value != "" && secrets[value] == "" {
			secrets[value] = name
			found = append(found, forms(value, len(value) < wordSize)...)
		}
	}
	parts := []string{
		"a", "b", "-", "_", " ", "\n", `\n`, `\`, `"`, "%3D", "%", "n", ".", "é", "/", "sk-",
		"sk-" + "ab01-ab01-ab01-ab01-ab01", "AKIA", "ABCD0123ABCD0123", "eyJhbGciOi", "abcdefgh",
		"-----BEGIN PRIVATE KEY-----", "-----BEGIN " + "PRIVATE KEY-----\nabcdabcdabcdabcd\n",
		"-----END PRIVATE KEY-----", "--", "ghp_", "hf_", "…", `\u2026`,
	}
	var text strings.Builder
	for i, c := range recipe {
		if c < 128 || len(found) == 0 {
			text.WriteString(parts[int(c)%len(parts)])
			continue
		}
		form := found[(int(c)*31+i)%len(found)]
		if c%3 == 0 {
			form = form[:len(form)*int(c%7)/6]
		}
		text.WriteString(form)
	}
	return secrets, text.String()
}

func setOf(secrets map[string]string) *Set {
	var s Set
	for value, name := range secrets {
		s.Mark(name, value)
	}
	return &s
}

// FuzzChunks: the output of a Writer does not depend on how the text is cut, and it is that of the oracle.
func FuzzChunks(f *testing.F) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 1))
		recipe := make([]byte, 1+r.IntN(30))
		for i := range recipe {
			recipe[i] = byte(r.Uint32())
		}
		f.Add(seed, recipe, []byte{byte(r.Uint32()), byte(r.Uint32())})
	}
	f.Fuzz(func(t *testing.T, seed uint64, recipe, cuts []byte) {
		if len(recipe) > 200 {
			t.Skip("slow, and no more than shorter ones show")
		}
		secrets, text := made(seed, recipe)
		s := setOf(secrets)
		whole := s.String(text)
		if !strings.Contains(text, "[") && !strings.Contains(text, "…") && !strings.Contains(text, `\u2026`) {
			require.Equal(t, oracle(secrets, text), whole, "secrets %q text %q", secrets, text)
		}
		var got bytes.Buffer
		w := s.Writer(&got)
		for i, rest := 0, text; len(rest) > 0; i++ {
			size := 1
			if len(cuts) > 0 {
				size = min(1+int(cuts[i%len(cuts)])%16, len(rest))
			}
			n, err := w.Write([]byte(rest[:size]))
			require.NoError(t, err)
			require.Equal(t, size, n)
			rest = rest[size:]
		}
		require.NoError(t, w.Close())
		require.Equal(t, whole, got.String(), "secrets %q text %q", secrets, text)
	})
}

// TestPrefixes checks what shape says about prefixes.
func TestPrefixes(t *testing.T) {
	for _, a := range shapes {
		for _, b := range shapes {
			require.NotContains(t, a.prefix[1:len(a.prefix)-1], b.prefix)
		}
	}
}

// TestEverySplit cuts a text in two at each place.
func TestEverySplit(t *testing.T) {
	for seed := range uint64(30) {
		secrets, text := made(seed, []byte{0, 130, 5, 16, 141, 3, 152, 22, 201, 23, 180, 14, 133})
		s := setOf(secrets)
		whole := s.String(text)
		for cut := range len(text) + 1 {
			var got strings.Builder
			w := s.Writer(&got)
			for _, part := range []string{text[:cut], text[cut:]} {
				_, err := w.Write([]byte(part))
				require.NoError(t, err)
			}
			require.NoError(t, w.Close())
			require.Equal(t, whole, got.String(), "secrets %q text %q cut at %d", secrets, text, cut)
		}
	}
}

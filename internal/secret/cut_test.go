package secret_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// TestCut cuts a text in the middle of a secret, at each place and in all ways, and masks it then.
func TestCut(t *testing.T) {
	const value = `a"secret&value<with>all/that+is=é escaped`
	var s secret.Set
	s.Mark("A", value)
	inJSON, err := json.Marshal(map[string]string{"detail": value})
	require.NoError(t, err)
	twice, err := json.Marshal(string(inJSON))
	require.NoError(t, err)
	ways := map[string]func(text string, size int) string{
		"Head":    excerpt.Head,
		"Bytes":   func(text string, size int) string { return excerpt.Bytes(text, size+len("…")) },
		"Line":    excerpt.Line,
		"Visible": excerpt.Visible,
		"Quote":   excerpt.Quote,
	}
	for name, cut := range ways {
		for escaped, text := range []string{"says " + value, string(inJSON), string(twice)} {
			if name == "Quote" {
				escaped++
			}
			for size := range len([]rune(text)) {
				shown := cut(text, size)
				quoted := jsonOf(t, shown)
				ascii := strings.ReplaceAll(quoted, "…", `\u2026`)
				var masked []string
				if escaped <= 2 { // what is escaped three times is not found
					masked = append(masked, s.String(shown), string(s.JSON([]byte(quoted))),
						string(s.JSON([]byte(ascii))))
					require.Equal(t, masked[0], s.String(masked[0]), "masked again")
				}
				if escaped <= 1 {
					masked = append(masked, s.String(quoted), s.String(ascii))
				}
				for _, m := range masked {
					require.NotContains(t, m, "secret", "%s: %s", name, shown)
				}
			}
		}
	}
}

func jsonOf(t *testing.T, text string) string {
	data, err := json.Marshal(text)
	require.NoError(t, err)
	return string(data)
}

func TestNotCut(t *testing.T) {
	var s secret.Set
	s.Mark("A", "abcdefghijklmnop")
	s.Mark("B", "hunter2")
	for _, tt := range [][2]string{
		{"abcdefgh…", "[REDACTED:A]…"},
		{"xabcdefghi… abcdefgh…", "x[REDACTED:A]… [REDACTED:A]…"},
		{`"abcdefgh"…`, `"[REDACTED:A]"…`},
		{"abcdefg…", "abcdefg…"},
		{"abcdefgh …", "abcdefgh …"},
		{"abcdefgh", "abcdefgh"},
		{"bcdefghijk…", "bcdefghijk…"},
		{"hunter…", "hunter…"},
		{"abcdefghijklmnop…", "[REDACTED:A]…"},
		{"[REDACTED:A]…", "[REDACTED:A]…"},
		{"-----BEGIN RSA…", "-----BEGIN RSA…"},
	} {
		assert.Equal(t, tt[1], s.String(tt[0]))
	}
}

// TestCutInPieces: what is held back decides whether a beginning is one of a secret.
func TestCutInPieces(t *testing.T) {
	var s secret.Set
	s.Mark("A", "abcdefghijklmnop")
	for _, text := range []string{
		"x abcdefghij… y", `x abcdefghij\u2026 y`, `x abcdefghij\"… y`, "abcdefghij\xe2\x80 y",
	} {
		for cut := range len(text) + 1 {
			var b strings.Builder
			w := s.Writer(&b)
			write(t, w, text[:cut])
			write(t, w, text[cut:])
			require.NoError(t, w.Close())
			require.Equal(t, s.String(text), b.String(), "cut at %d", cut)
		}
	}
}

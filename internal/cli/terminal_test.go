package cli

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestPrintable(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"plain", "Read go.mod", "Read go.mod"},
		{"escape sequence", "\x1b[2Jred", "␛[2Jred"},
		{"line ends", "a\r\nb", "a␍␊b"},
		{"tab", "a\tb", "a b"},
		{"delete", "a\x7f", "a␡"},
		{"second control block", "a\u009b31m", "a\ufffd31m"},
		{"turned direction", "a\u202eb\u2066c", "abc"},
		{"line separator", "a\u2028b", "a\ufffdb"},
		{"invalid", "a\xffb", "a\ufffdb"},
		{"other scripts", "読む é 🙂", "読む é 🙂"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, printable(tt.text)) })
	}
}

func TestCut(t *testing.T) {
	tests := []struct {
		name, text string
		width      int
		want       string
	}{
		{"fits", "abc", 3, "abc"},
		{"too long", "abcd", 3, "ab…"},
		{"wide fits", "読む", 4, "読む"},
		{"wide too long", "読むa", 4, "読…"},
		{"half of a wide one has no room", "読む", 3, "読…"},
		{"combining marks stay with their letter", "e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"one column", "abc", 1, "…"},
		{"none", "abc", 0, ""},
		{"less than none", "abc", -1, ""},
		{"empty", "", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, cut(tt.text, tt.width)) })
	}
}

func TestCutLeft(t *testing.T) {
	tests := []struct {
		name, text string
		width      int
		want       string
	}{
		{"fits", "a/b/c", 5, "a/b/c"},
		{"too long", "abc/def/1", 6, "…def/1"},
		{"wide", "読む/1", 4, "…/1"},
		{"one column", "abc", 1, "…"},
		{"none", "abc", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Equal(t, tt.want, cutLeft(tt.text, tt.width)) })
	}
}

// FuzzPrintable holds that no text, whoever wrote it, gets out of its place on a terminal.
func FuzzPrintable(f *testing.F) {
	f.Add("Read \x1b[31m読む\n", 5)
	f.Add("e\u0301\u200d🙂\u202e", 2)
	f.Fuzz(func(t *testing.T, text string, columns int) {
		s := printable(text)
		if !utf8.ValidString(s) || strings.ContainsFunc(s, unicode.IsControl) {
			t.Fatalf("%q is not safe to show", s)
		}
		if printable(s) != s {
			t.Fatalf("%q changes again", s)
		}
		for _, c := range []string{cut(s, columns), cutLeft(s, columns)} {
			if width(c) > max(columns, 0) {
				t.Fatalf("%q is wider than %d", c, columns)
			}
		}
	})
}

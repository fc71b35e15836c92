package excerpt

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestLimits(t *testing.T) {
	for _, tt := range []struct {
		name      string
		got, want string
	}{
		{"all of it", Head("éé", 2), "éé"},
		{"its beginning", Head("ééé", 2), "éé…"},
		{"as long as the ellipsis", Quote("ab\u20ac", 2), `"ab"…`},
		{"bytes", Bytes("éé", 4), "éé"},
		{"bytes, none but whole characters", Bytes("ééé", 5), "é…"},
		{"a line", Line("  a\n\tb\u00a0c\x1b[0m\xff ", 10), "a b c\uFFFD[0m\uFFFD"},
		{"a long line", Line("a\n\nb c", 3), "a b…"},
		{"visible", Visible("\ta\x1b[0m\u202e\xff", 10), "\ta\\x1b[0m\\u202e\uFFFD"},
		{"visible, cut before escapes are added", Visible("\x1b\x1b\x1b", 2), `\x1b\x1b…`},
		{"quoted", Quote("a\n\"", 3), `"a\n\""`},
		{"a name", Name("read file", 9), "read file"},
		{"a long name", Name("read file", 4), "read…"},
		{"no name", Name("", 4), `""`},
		{"a name that hides", Name("a\u200bb", 4), `"a\u200bb"`},
		{"a broken name", Name("a\xff", 1), `"a"…`},
	} {
		assert.Equal(t, tt.want, tt.got, tt.name)
	}
}

func TestFirstLines(t *testing.T) {
	for _, tt := range []struct {
		name, a, b   string
		number       int
		lineA, lineB string
	}{
		{"one line", "a", "b", 1, "a", "b"},
		{"a later one", "1\n2\n3\n", "1\n2\nx\n4", 3, "3\n", "x\n"},
		{"the end of a line", "1\n2", "1\n2\n3", 2, "2", "2\n"},
		{"a line more", "1\n", "1\n2", 2, "", "2"},
	} {
		number, a, b := FirstLines(tt.a, tt.b)
		assert.Equal(t, tt.number, number, tt.name)
		assert.Equal(t, []string{tt.lineA, tt.lineB}, []string{a, b}, tt.name)
	}
}

func TestApart(t *testing.T) {
	for _, tt := range []struct{ name, a, b, wantA, wantB string }{
		{"short", "abcdX", "abcdY", "[abcdX]", "[abcdY]"},
		{"at the beginning", "Xbcdef", "Ybcdef", "[Xbcdef]", "[Ybcdef]"},
		{"a little behind it", "abXdef", "abYdef", "[abXdef]", "[abYdef]"},
		{"later", "abcdXf", "abcdYf", "…[cdXf]", "…[cdYf]"},
		{"characters", "ééééXf", "ééééYf", "…[ééXf]", "…[ééYf]"},
		{"characters that begin alike", "aaaaé-", "aaaaè-", "…[aaé-]", "…[aaè-]"},
		{"one is the other's beginning", "abcd", "abcdef", "…[cd]", "…[cdef]"},
		{"the other way round", "abcdef", "abcd", "…[cdef]", "…[cd]"},
		{"not UTF-8", "abc\xff--", "abc\uFFFD--", "…[bc\xff--]", "…[bc\uFFFD--]"},
	} {
		a, b := Apart(tt.a, tt.b, 5, 2, func(s string) string { return "[" + s + "]" })
		assert.Equal(t, tt.wantA, a, tt.name)
		assert.Equal(t, tt.wantB, b, tt.name)
	}
}

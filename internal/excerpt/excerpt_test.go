package excerpt

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
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

func TestTail(t *testing.T) {
	tests := []struct {
		name, reason string
		limit        int
		writes       []string
		final        bool
		want         string
		truncated    bool
	}{
		{name: "empty", limit: 10},
		{name: "all", limit: 10, writes: []string{"ab", "cd"}, want: "abcd"},
		{name: "exactly", limit: 4, writes: []string{"ab", "cd"}, want: "abcd"},
		{name: "end", limit: 3, writes: []string{"ab", "cd"}, want: "bcd", truncated: true},
		{name: "end-of-much", limit: 3, writes: []string{"abcdef", "ghijkl", "mn"}, want: "lmn", truncated: true},
		{name: "nothing", limit: 0, writes: []string{"ab"}, want: "", truncated: true},
		{name: "nothing-of-nothing", limit: 0, want: ""},
		{
			name: "cut-within-a-character", reason: "it goes as a whole", limit: 4, writes: []string{"aé€b"},
			want: "€b", truncated: true,
		},
		{name: "cut-within-the-next", limit: 3, writes: []string{"aé€b"}, want: "b", truncated: true},
		{
			name: "character-under-way", reason: "its rest may come", limit: 10, writes: []string{"a\xe2\x82"},
			want: "a",
		},
		{name: "character-complete", limit: 10, writes: []string{"a\xe2\x82", "\xac"}, want: "a€"},
		{
			name: "half-a-character-at-the-end", reason: "its rest will not come", limit: 10,
			writes: []string{"a\xe2\x82"}, final: true, want: "a\uFFFD",
		},
		{name: "binary", limit: 20, writes: []string{"a\xff\xfeb\xffc"}, want: "a\uFFFDb\uFFFDc"},
		{
			name: "binary-beyond-the-limit", reason: "what stands for a byte is longer than the byte",
			limit: 6, writes: []string{"a\xffb\xffc"}, want: "b\uFFFDc", truncated: true,
		},
		{
			name: "continuation-bytes-at-the-very-start", reason: "nothing was cut there", limit: 10,
			writes: []string{"\x82\xaca"},
			want:   "\uFFFDa",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out := &Tail{Limit: tt.limit}
			for _, w := range tt.writes {
				n, err := out.Write([]byte(w))
				require.NoError(t, err)
				require.Equal(t, len(w), n)
			}
			text, truncated := out.Text(tt.final)
			assert.Equal(t, tt.want, text, tt.reason)
			assert.Equal(t, tt.truncated, truncated)
		})
	}
}

// FuzzTail writes data in pieces: what is kept is valid, within the limit and the end of what was written.
func FuzzTail(f *testing.F) {
	f.Add([]byte("aé€b𝄞c"), 5, uint64(1))
	f.Add([]byte("\xff\xf0\x9d\x84"), 3, uint64(2))
	f.Fuzz(func(t *testing.T, data []byte, limit int, seed uint64) {
		limit = max(0, min(limit, 1<<16))
		out := &Tail{Limit: limit}
		random := rand.New(rand.NewPCG(seed, 0))
		for rest := data; len(rest) > 0; {
			n := 1 + random.IntN(len(rest))
			_, _ = out.Write(rest[:n])
			rest = rest[n:]
			text, _ := out.Text(false)
			require.True(t, utf8.ValidString(text), "%q", text)
		}
		require.LessOrEqual(t, cap(out.buf), 2*(2*limit+len(data))+64)
		text, truncated := out.Text(true)
		whole := strings.ToValidUTF8(string(data), "\uFFFD")
		require.True(t, utf8.ValidString(text), "%q", text)
		require.LessOrEqual(t, len(text), limit)
		require.Equal(t, truncated, len(data) > limit || len(whole) > limit)
		if utf8.Valid(data) {
			require.True(t, strings.HasSuffix(string(data), text), "%q is no end of %q", text, data)
			require.Greater(t, len(text)+utf8.UTFMax, min(limit, len(data)), "%q is less than it could be", text)
		}
	})
}

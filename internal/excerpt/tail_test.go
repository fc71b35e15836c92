package excerpt

import (
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

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

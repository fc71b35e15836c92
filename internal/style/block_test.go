package style

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const block = beginMarker + "\nnew\n" + endMarker

func crlf(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }

func TestSplice(t *testing.T) {
	tests := []struct{ name, reason, text, want string }{
		{name: "empty", text: "", want: block + "\n"},
		{name: "appended", text: "mine\n", want: "mine\n\n" + block + "\n"},
		{name: "appended to an unfinished line", text: "mine", want: "mine\n\n" + block + "\n"},
		{name: "appended with CRLF", text: "mine\r\nand yours\r\n", want: crlf("mine\nand yours\n\n" + block + "\n")},
		{
			name: "replaced", text: "above\n" + beginMarker + "\nold\n\nolder\n" + endMarker + "\nbelow",
			want: "above\n" + block + "\nbelow",
		},
		{
			name: "replaced with CRLF", text: crlf("above\n" + beginMarker + "\nold\n" + endMarker + "\n  below\t\n\n"),
			want: crlf("above\n" + block + "\n  below\t\n\n"),
		},
		{name: "block alone with CRLF", text: crlf(block + "\n"), want: crlf(block + "\n")},
		{name: "block at the end of an unfinished line", text: "above\n" + block, want: "above\n" + block},
		{
			name: "mixed line ends", reason: "the first line decides, the others stay",
			text: "a\nb\r\n" + crlf(block) + "\r\nc\n", want: "a\nb\r\n" + block + "\r\nc\n",
		},
		{name: "empty block", text: beginMarker + "\n" + endMarker + "\n", want: block + "\n"},
		{
			name: "spaces around markers", reason: "editors and formatters add them",
			text: "  " + beginMarker + " \nold\n\t" + endMarker + "  \nend\n", want: "  " + block + "  \nend\n",
		},
		{name: "byte order mark", text: "\ufeff" + block + "\nmine\n", want: "\ufeff" + block + "\nmine\n"},
		{
			name: "marker inside a line", reason: "it is text there",
			text: "Keep `" + beginMarker + "`.\n", want: "Keep `" + beginMarker + "`.\n\n" + block + "\n",
		},
		{name: "not UTF-8", reason: "ASCII fits into Latin-1, too", text: "caf\xe9\n", want: "caf\xe9\n\n" + block + "\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := splice([]byte(tt.text), []byte("new\n"))
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got), tt.reason)
			again, err := splice(got, []byte("new\n"))
			require.NoError(t, err)
			assert.Equal(t, string(got), string(again), "a second splice changes nothing")
		})
	}
}

func TestSpliceTakesAnyLineEndOfTheBody(t *testing.T) {
	got, err := splice([]byte("mine\n"), []byte("\r\none\r\ntwo\r\n\r\n"))
	require.NoError(t, err)
	assert.Equal(t, "mine\n\n"+beginMarker+"\none\ntwo\n"+endMarker+"\n", string(got))
}

func TestDamagedBlock(t *testing.T) {
	const advice = `: there is to be one "<!-- sdd-eval:begin -->" and behind it one "<!-- sdd-eval:end -->", or neither`
	tests := []struct{ name, text, want string }{
		{"no end", "a\n" + beginMarker + "\nb\n", "AGENTS.md:2: the managed block that begins here does not end" + advice},
		{"no begin", "a\nb\n" + endMarker, "AGENTS.md:3: a managed block ends that did not begin" + advice},
		{"end before begin", endMarker + "\n" + beginMarker + "\n", "AGENTS.md:1: a managed block ends that did not begin" + advice},
		{
			"two blocks", block + "\n\n" + block + "\n",
			"AGENTS.md:5: a second managed block begins, the first one is on lines 1 to 3" + advice,
		},
		{
			"one inside the other", beginMarker + "\nx\n" + block + "\n" + endMarker,
			"AGENTS.md:3: a managed block begins inside the one of line 1" + advice,
		},
		{"two ends", "\r\n" + block + "\r\n" + endMarker, "AGENTS.md:5: a managed block ends that did not begin" + advice},
		{"UTF-16", "a\x00b\x00", "AGENTS.md: has NUL bytes, so it is not UTF-8 text"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := splice([]byte(tt.text), []byte("new\n"))
			assert.EqualError(t, err, tt.want)
		})
	}
}

func FuzzSplice(f *testing.F) {
	f.Add([]byte(""), []byte("new"))
	f.Add([]byte("a\r\n"+block+"\r\nb"), []byte("new\r\n"))
	f.Add([]byte("a\r"), []byte("\n\n"))
	f.Add([]byte("\ufeff "+block+" \n"), []byte(""))
	f.Add([]byte(beginMarker+"\n"+beginMarker), []byte("new"))
	f.Fuzz(func(t *testing.T, text, body []byte) {
		if checkBody(body) != nil {
			return
		}
		got, err := splice(text, body)
		if err != nil {
			return
		}
		again, err := splice(got, body)
		require.NoError(t, err)
		require.Equal(t, string(got), string(again), "a second splice changes nothing")

		before, err := locate(text)
		require.NoError(t, err)
		after, err := locate(got)
		require.NoError(t, err)
		require.NotEqual(t, span{}, after)
		if before == (span{}) {
			require.True(t, bytes.HasPrefix(got, text), "what was there stays")
			require.Empty(t, bytes.Trim(got[len(text):after.from], "\r\n"))
			require.Empty(t, bytes.Trim(got[after.to:], "\r\n"))
			return
		}
		require.Equal(t, string(text[:before.from]), string(got[:after.from]))
		require.Equal(t, string(text[before.to:]), string(got[after.to:]))
	})
}

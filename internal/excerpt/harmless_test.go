package excerpt_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/testkit/commandtest"
)

func TestHarmless(t *testing.T) {
	for text, want := range map[string]string{
		"a\n\tb::c # d ## e [f]\r\n":     "a\n\tb::c # d ## e [f]\n",
		"a\n  ::error::b":                "a\n  \\::error::b",
		"a ##vso[b] ##[c]":               "a #\\#vso[b] #\\#[c]",
		"\x1b[31m\u009b\u200b\xff\u00a0": "\\x1b[31m\\u009b\\u200b\ufffd\u00a0",
		"⚠️ ✓ 中":                         "⚠️ ✓ 中",
	} {
		assert.Equal(t, want, excerpt.Harmless(text), "%q", text)
	}
}

func FuzzHarmless(f *testing.F) {
	for _, text := range commandtest.Texts {
		require.NotEmpty(f, commandtest.Find(text), "%q", text)
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := excerpt.Harmless(text)
		require.Empty(t, commandtest.Find(got))
		require.Equal(t, got, excerpt.Harmless(got))
	})
}

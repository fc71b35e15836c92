package doc_test

import (
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

func TestYAML(t *testing.T) {
	p := doc.Pairs{
		{Key: "name", Value: "pdf", Comment: "Two lines\nof a comment\x1b[m\n"},
		{Key: "true", Value: "no"},
		{Key: "prompt", Value: "Do it.\n\n  And so on.\n"},
		{Key: "odd", Value: " begins with a blank\n"},
		{Key: "count", Value: 3},
		{Key: "weight", Value: 0.5},
		{Key: "list", Value: []string{"a", "<b>"}},
		{Key: "none", Value: doc.Pairs{}},
		{Key: "nothing", Value: []doc.Pairs{}},
		{Key: "cases", Comment: "each", Value: []doc.Pairs{
			{{Key: "id", Value: "one", Comment: "lost"}, {Key: "in", Value: doc.Pairs{{Key: "a b", Value: true}}}},
			{{Key: "id", Value: "two"}, {Key: "text", Value: "x\ny\n", Comment: "kept"}},
			{{Key: "one", Value: doc.Shared{Name: "all", Value: []string{"a"}}}},
			{{Key: "two", Value: doc.Shared{Name: "all", Value: []string{"a"}}}},
		}},
	}
	const want = `# Two lines
# of a comment [m
name: pdf
"true": "no"
prompt: |
  Do it.

    And so on.
odd: " begins with a blank\n"
count: 3
weight: 0.5
list: ["a","<b>"]
none: {}
nothing: []
# each
cases:
  - id: one
    in:
      "a b": true
  - id: two
    # kept
    text: |
      x
      y
  - one: &all ["a"]
  - two: *all
`
	assert.Equal(t, want, string(p.YAML()))
}

// FuzzYAML checks that texts are read as they were written.
func FuzzYAML(f *testing.F) {
	for _, text := range []string{
		"a", "a\n", "a\n\nb\n", " a\n", "a \nb\n", "\ta\n", "# a\n", "- a\n", "a: b\n", "---\n", "~", "0x1",
		"a\u2028b\n", "\ufeff\n", "...\n", "%a\n", "\u0085\n", "a\rb\n", "\"", "é\n\n", "\x00", "\x7f",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if text == "k" || len(text) > 200 || !utf8.ValidString(text) {
			return
		}
		d := doc.Parse("written", doc.Pairs{{Key: "in", Value: []doc.Pairs{
			{{Key: "k", Value: text, Comment: text}, {Key: text, Value: text, Comment: text}},
		}}}.YAML())
		require.NoError(t, d.Err())
		entries := d.Root.Get("in").Items()[0].Entries()
		require.Len(t, entries, 2)
		assert.Equal(t, text, entries[0].Value.Text())
		assert.Equal(t, text, entries[1].Value.Text())
		assert.Equal(t, text, entries[1].Key)
	})
}

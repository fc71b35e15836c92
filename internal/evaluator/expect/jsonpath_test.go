package expect_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
)

const document = `{
	"id": "INV-7", "lines": [{"q": 2, "tags": []}, {"q": 3}], "a.b": {"]\"": 1}, "$schema": "s", "nothing": null,
	"grid": [[1, 2], [3, 4]], "": 5
}`

func TestFind(t *testing.T) {
	tests := []struct {
		name, path, want string // JSON, or what is missing after "-"
	}{
		{"key", "id", `"INV-7"`},
		{"index", "lines[1].q", "3"},
		{"index of index", "grid[1][0]", "3"},
		{"from the document", "$.lines[0].q", "2"},
		{"key that begins with a dollar", "$schema", `"s"`},
		{"key that begins with a dollar, from the document", "$.$schema", `"s"`},
		{"quoted key", `["a.b"]["]\""]`, "1"},
		{"quoted key, from the document", `$["id"]`, `"INV-7"`},
		{"empty key", `[""]`, "5"},
		{"null is there", "nothing", "null"},
		{"no key", "lines[1].price", `-lines[1] has no key "price"`},
		{"no key at all", "price", `-the document has no key "price"`},
		{"no element", "lines[2].q", "-lines has no element 2, its length is 2"},
		{"no element at all", "lines[0].tags[0]", "-lines[0].tags has no element 0, its length is 0"},
		{"key of an array", "lines.0", "-lines is an array, not an object"},
		{"key of null", "nothing.x", "-nothing is null, not an object"},
		{"index of an object", "lines[0][0]", "-lines[0] is an object, not an array"},
		{"index of the document", "[0]", "-the document is an object, not an array"},
		{"key of a string", "id.x", "-id is a string, not an object"},
	}
	var doc any
	require.NoError(t, jsonvalue.Decode([]byte(document), &doc))
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := expect.ParseJSONPath(tt.path)
			require.NoError(t, err)
			assert.Equal(t, tt.path, p.String())
			value, missing := p.Find(doc)
			if want, ok := strings.CutPrefix(tt.want, "-"); ok {
				assert.Equal(t, want, missing)
				assert.Nil(t, value)
				return
			}
			assert.Empty(t, missing)
			assert.Equal(t, tt.want, expect.ShowJSON(value))
		})
	}
	whole, err := expect.ParseJSONPath("$")
	require.NoError(t, err)
	value, missing := whole.Find(doc)
	assert.Empty(t, missing)
	assert.Equal(t, doc, value)
}

func TestParseErrors(t *testing.T) {
	tests := []struct{ name, path, want string }{
		{"empty", "", "must not be empty: $ is the whole document"},
		{"dot first", ".a", "a key is missing before the dot"},
		{"dot last", "a.", "a key is missing after the dot"},
		{"dollar and dot", "$.", "a key is missing after the dot"},
		{"two dots", "a..b", "a key is missing before the dot"},
		{"two dots after the document", "$..b", "a key is missing before the dot"},
		{"dot before an index", "a.[0]", "a key is missing after the dot"},
		{"dot before the first index", "$.[0]", "a key is missing after the dot"},
		{"wildcard", "a.*", `"*": only keys and indexes are supported; write other characters as ["key"]`},
		{"wildcard of an array", "a[*].b", `[*].b is neither an index like [0] nor a key like ["a.b"]`},
		{"negative index", "a[-1]", `[-1] is neither an index like [0] nor a key like ["a.b"]`},
		{"index with a zero", "a[01]", `[01] is neither an index like [0] nor a key like ["a.b"]`},
		{"index with a sign", "a[+1]", `[+1] is neither an index like [0] nor a key like ["a.b"]`},
		{
			"huge index", "a[99999999999999999999]",
			`[99999999999999999999] is neither an index like [0] nor a key like ["a.b"]`,
		},
		{"open index", "a[0", `[0 is neither an index like [0] nor a key like ["a.b"]`},
		{"no index", "a[]", `[] is neither an index like [0] nor a key like ["a.b"]`},
		{"open quotes", `["a`, `["a is not closed`},
		{"open bracket", `["a"`, `["a" is not like ["a.b"]`},
		{"bad escape", `["\x"]`, `["\x"] is not like ["a.b"]`},
		{"single quotes", `['a']`, `['a'] is neither an index like [0] nor a key like ["a.b"]`},
		{"pointer", "/a/0", `"/a/0" is no path: write a.b[0], or ["/a"] for a key with a slash`},
		{"key after an index", "a[0]b", `"a[0]" must be followed by a dot, [, or nothing`},
		{
			"stray bracket", "a]",
			`"a]": only keys and indexes are supported; write other characters as ["key"]`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := expect.ParseJSONPath(tt.path)
			assert.EqualError(t, err, tt.want)
		})
	}
}

// FuzzParse holds that a path which is accepted finds what stands there, and that nothing panics.
func FuzzParse(f *testing.F) {
	for _, path := range []string{
		"$", "a.b[0].c", `$["a.b"][1]`, "$schema", "a..b", "a[*]", `["\u0061"]`, "lines[1].q", "[",
	} {
		f.Add(path)
	}
	var doc any
	require.NoError(f, jsonvalue.Decode([]byte(document), &doc))
	f.Fuzz(func(t *testing.T, text string) {
		p, err := expect.ParseJSONPath(text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		require.Equal(t, text, p.String())
		value, missing := p.Find(doc)
		if missing != "" {
			require.Nil(t, value)
			return
		}
		require.NotEqual(t, "", expect.ShowJSON(value))
	})
}

func TestShow(t *testing.T) {
	assert.Equal(t, `{"a":"<b>"}`, expect.ShowJSON(map[string]any{"a": "<b>"}))
	assert.Equal(t, `"`+strings.Repeat("ä", 79)+"…", expect.ShowJSON(strings.Repeat("ä", 100)))
}

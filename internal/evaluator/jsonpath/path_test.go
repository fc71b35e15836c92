package jsonpath_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/jsonpath"
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
	doc, err := jsonpath.Decode([]byte(document))
	require.NoError(t, err)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := jsonpath.Parse(tt.path)
			require.NoError(t, err)
			assert.Equal(t, tt.path, p.String())
			value, missing := p.Find(doc)
			if want, ok := strings.CutPrefix(tt.want, "-"); ok {
				assert.Equal(t, want, missing)
				assert.Nil(t, value)
				return
			}
			assert.Empty(t, missing)
			assert.Equal(t, tt.want, jsonpath.Show(value))
		})
	}
	whole, err := jsonpath.Parse("$")
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
		{"wildcard", "a.*", `"*": only keys and indexes are supported; write a key with such characters as ["key"]`},
		{"wildcard of an array", "a[*].b", `[*].b is neither an index like [0] nor a key like ["a.b"]`},
		{"negative index", "a[-1]", `[-1] is neither an index like [0] nor a key like ["a.b"]`},
		{"index with a zero", "a[01]", `[01] is neither an index like [0] nor a key like ["a.b"]`},
		{"index with a sign", "a[+1]", `[+1] is neither an index like [0] nor a key like ["a.b"]`},
		{"huge index", "a[99999999999999999999]", `[99999999999999999999] is neither an index like [0] nor a key like ["a.b"]`},
		{"open index", "a[0", `[0 is neither an index like [0] nor a key like ["a.b"]`},
		{"no index", "a[]", `[] is neither an index like [0] nor a key like ["a.b"]`},
		{"open quotes", `["a`, `["a is not closed`},
		{"open bracket", `["a"`, `["a" is not like ["a.b"]`},
		{"bad escape", `["\x"]`, `["\x"] is not like ["a.b"]`},
		{"single quotes", `['a']`, `['a'] is neither an index like [0] nor a key like ["a.b"]`},
		{"key after an index", "a[0]b", `"a[0]" must be followed by a dot, [, or nothing`},
		{"stray bracket", "a]", `"a]": only keys and indexes are supported; write a key with such characters as ["key"]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := jsonpath.Parse(tt.path)
			assert.EqualError(t, err, tt.want)
		})
	}
}

// FuzzParse holds that a path which is accepted finds what stands there, and that nothing panics.
func FuzzParse(f *testing.F) {
	for _, path := range []string{"$", "a.b[0].c", `$["a.b"][1]`, "$schema", "a..b", "a[*]", `["\u0061"]`, "lines[1].q", "["} {
		f.Add(path)
	}
	doc, err := jsonpath.Decode([]byte(document))
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, err := jsonpath.Parse(text)
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
		require.NotEqual(t, "", jsonpath.Show(value))
	})
}

func TestDecode(t *testing.T) {
	tests := []struct{ name, text, err string }{
		{"object", `{"a": 1}`, ""},
		{"space around", " [1]\n", ""},
		{"empty", "", "it is empty"},
		{"blank", " \n", "it is empty"},
		{"prose", "no", "invalid character 'o' in literal null (expecting 'u')"},
		{"cut", `{"a": `, "unexpected EOF"},
		{"second value", `{"a": 1} {"a": 2}`, "something follows after its end"},
		{"text after", `{"a": 1} and more`, "something follows after its end"},
		{"NaN", `{"a": NaN}`, "invalid character 'N' looking for beginning of value"},
		{"not UTF-8", "\"\xff\"", "it is not UTF-8"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := jsonpath.Decode([]byte(tt.text))
			if tt.err == "" {
				assert.NoError(t, err)
				return
			}
			assert.EqualError(t, err, tt.err)
		})
	}
}

func TestEqual(t *testing.T) {
	long := strings.Repeat("9", 500)
	tests := []struct {
		name, a, b string
		want       bool
	}{
		{"numbers", "1", "1.0", true},
		{"exponents", "100", "1e2", true},
		{"negative zero", "0", "-0.0", true},
		{"beyond floats", "9007199254740992", "9007199254740993", false},
		{"huge", "1e999999999", "1e999999999", true},
		{"huge and another", "1e999999999", "1e999999998", false},
		{"huge and plain", "1e999999999", "1", false},
		{"long", long, long, true},
		{"long and longer", long, long + "0", false},
		{"number and string", "1", `"1"`, false},
		{"string and number", `"1"`, "1", false},
		{"strings", `"a"`, `"\u0061"`, true},
		{"cases", `"a"`, `"A"`, false},
		{"null and false", "null", "false", false},
		{"null", "null", "null", true},
		{"null and an array", "null", "[]", false},
		{"arrays", "[1, [2]]", "[1.0, [2]]", true},
		{"order", "[1, 2]", "[2, 1]", false},
		{"shorter", "[1]", "[1, 2]", false},
		{"objects", `{"a": 1, "b": {}}`, `{"b": {}, "a": 1}`, true},
		{"another key", `{"a": null}`, `{"b": null}`, false},
		{"one key more", `{"a": 1}`, `{"a": 1, "b": 1}`, false},
		{"object and array", "{}", "[]", false},
		{"true and object", "true", "{}", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, err := jsonpath.Decode([]byte(tt.a))
			require.NoError(t, err)
			b, err := jsonpath.Decode([]byte(tt.b))
			require.NoError(t, err)
			assert.Equal(t, tt.want, jsonpath.Equal(a, b))
			assert.Equal(t, tt.want, jsonpath.Equal(b, a))
			assert.True(t, jsonpath.Equal(a, a))
		})
	}
}

func FuzzNumber(f *testing.F) {
	for _, n := range []string{"0", "-1.50", "1e400", "1e-401", "1E+3", "12345678901234567890.5"} {
		f.Add(n)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := jsonpath.Decode([]byte(text))
		if err != nil {
			return
		}
		n, ok := v.(json.Number)
		if !ok {
			return
		}
		require.True(t, jsonpath.Equal(n, n))
		if r, ok := jsonpath.Number(n); ok {
			require.LessOrEqual(t, len(r.Num().Bits()), 100)
		}
	})
}

func TestShow(t *testing.T) {
	assert.Equal(t, `{"a":"<b>"}`, jsonpath.Show(map[string]any{"a": "<b>"}))
	assert.Equal(t, `"`+strings.Repeat("ä", 79)+"…", jsonpath.Show(strings.Repeat("ä", 100)))
	assert.Equal(t, `"\u001b[31m"`, jsonpath.Show("\x1b[31m"))
}

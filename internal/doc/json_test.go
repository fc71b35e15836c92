package doc_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/doc"
)

func TestParseJSON(t *testing.T) {
	text := "{\n\t\"é\": [1.50, \"\\ud83d\\ude00\\ufffd�\", true,\n null], \"b c\": {\"x\": {}}}"
	d := doc.ParseJSON("a.json", []byte(text))
	require.NoError(t, d.Err())
	assert.Equal(t, map[string]any{
		"é": []any{json.Number("1.50"), "😀��", true, nil}, "b c": map[string]any{"x": map[string]any{}},
	}, d.Root.Value())
	for path, want := range map[string]string{
		`é`: "2:2", `é[0]`: "2:8", `é[1]`: "2:14", `é[3]`: "3:2", `["b c"].x`: "3:17",
	} {
		assert.Equal(t, "a.json:"+want+": "+path+": here", here(d, path), path)
	}
}

// here returns the problem that a document reports at a path.
func here(d *doc.Document, path string) string {
	again := doc.ParseJSON("a.json", d.Text)
	again.Root.Errorf(path, "here")
	return again.Err().Error()
}

func TestParseJSONProblems(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"empty", " \n", "a.json:1:1: the file is empty"},
		{
			"comma", "{\n  \"a\": 1,\n}",
			"a.json:3:1: not valid JSON: invalid character '}' looking for beginning of object key string",
		},
		{"end", "[1", "a.json:1:2: not valid JSON: unexpected end of JSON input"},
		{"two", "[1]\n[2]", "a.json:2:1: not valid JSON: invalid character '[' after top-level value"},
		{"comment", "[1] # one", "a.json:1:5: not valid JSON: invalid character '#' after top-level value"},
		{"twice", "{\"a\": 1,\n \"a\": 2}", `a.json:2:2: a: duplicate key "a", first on line 1`},
		{"surrogate", `["\ud83d"]`, "a.json:1:2: [0]: half of a surrogate pair, which is no character"},
		{"not UTF-8", "[\"\xff\"]", "a.json:1:3: not UTF-8: byte 0xff"},
		{"control", "[\"\x00\"]", "a.json:1:3: control character U+0000"},
		{
			"deep", strings.Repeat("[", 70) + strings.Repeat("]", 70),
			"a.json:1:66: " + strings.Repeat("[0]", 65) + ": nested deeper than 64 levels",
		},
		{
			"many", "[0" + strings.Repeat(",0", doc.MaxNodes) + "]",
			"a.json:1:200000: [99999]: the file has more than 100000 values",
		},
		{
			"large", `"` + strings.Repeat("x", doc.MaxSize) + `"`,
			"a.json:1:1: the file exceeds the limit of 1048576 bytes",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.EqualError(t, doc.ParseJSON("a.json", []byte(c.text)).Err(), c.want)
		})
	}
}

// FuzzParseJSON holds that the tree is what encoding/json reads.
func FuzzParseJSON(f *testing.F) {
	f.Add([]byte(`{"a": [1, "\u00e9\ud83d", {"b": null}], "a": 2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d := doc.ParseJSON("f", data)
		if d.Err() != nil {
			return
		}
		dec := json.NewDecoder(strings.NewReader(string(data)))
		dec.UseNumber()
		var want any
		require.NoError(t, dec.Decode(&want))
		require.Equal(t, want, d.Root.Value())
	})
}

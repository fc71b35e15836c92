package evaltest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// fuzzInput has a field of each kind.
type fuzzInput struct {
	Text  string  `json:"text"`
	Count *int    `json:"count"`
	Share float64 `json:"share"`
}

// FuzzRows reads what may be anything. Rows that are read are whole, and errors name the file.
func FuzzRows(f *testing.F) {
	for _, text := range []string{
		`{"id": "a", "input": {"text": "x"}, "expected": [{"tool": "Read", "args": {"path": {"ends_with": ".go"}}}]}`,
		"- {id: a, input: {text: x, count: 1}, expected: [{kind: read}]}\n- {id: b, input: {}, expected: []}\n",
		"id,input.text,input.count,input.share\na,x,1,0.5\nb,\"y\nz\",2,1e3\n", "id,input\na,{}\n", "[[[", "\"\"\"\n",
		"{\"a\": 1, \"a\": 2}",
	} {
		for kind := range extensions {
			f.Add(text, byte(kind))
		}
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string, kind byte) {
		file := filepath.Join(dir, "rows"+extensions[int(kind)%len(extensions)])
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		rows, err := readRows[fuzzInput, Calls](file)
		if err != nil {
			require.Contains(t, err.Error(), file)
			return
		}
		require.NotEmpty(t, rows)
		seen := make(map[string]bool)
		for _, r := range rows {
			require.Regexp(t, idPattern, r.ID)
			require.False(t, seen[r.ID], "%q is there twice", r.ID)
			seen[r.ID] = true
			for _, c := range r.Expected {
				require.NoError(t, c.Check())
			}
		}
	})
}

var extensions = []string{".jsonl", ".yaml", ".csv"}

func TestReadRows(t *testing.T) {
	count := 3
	want := []Row[fuzzInput, []string]{
		{ID: "a", Input: fuzzInput{Text: "one\n😀", Count: &count, Share: 0.5}, Expected: []string{"x", "y"}},
		{ID: "b", Input: fuzzInput{Text: "two"}, Expected: []string{}},
	}
	tests := []struct{ name, reason, text string }{
		{
			"lines.jsonl", "an object a line",
			`{"id":"a","input":{"text":"one\n\ud83d\ude00","count":3,"share":5e-1},"expected":["x","y"]}` + "\n\n" +
				`{"id":"b","input":{"text":"two"},"expected":[]}`,
		},
		{
			"list.yaml", "a mapping each",
			"- {id: a, input: {text: \"one\\n😀\", count: 3, share: 0.5}, expected: [x, y]}\n" +
				"- id: b\n  input: {text: two}\n  expected: []\n",
		},
		{
			"table.csv", "a column a field",
			"id,input.text,input.count,input.share,expected\n" +
				"a,\"one\n😀\",3,0.5,\"[\"\"x\"\",\"\"y\"\"]\"\nb,two,null,0,[]\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), tt.name)
			require.NoError(t, os.WriteFile(file, []byte(tt.text), 0o600))
			rows, err := readRows[fuzzInput, []string](file)
			require.NoError(t, err, tt.reason)
			require.Equal(t, want, rows)

			require.NoError(t, os.WriteFile(file, []byte("\ufeff"+tt.text), 0o600))
			rows, err = readRows[fuzzInput, []string](file)
			require.NoError(t, err, "a byte order mark")
			require.Equal(t, want, rows)
		})
	}
}

// TestDeepRows holds that values which lie deep within each other are an error and no overflow of the stack.
func TestDeepRows(t *testing.T) {
	file := filepath.Join(t.TempDir(), "deep.jsonl")
	require.NoError(t, os.WriteFile(file, []byte(strings.Repeat("[", maxData-1)), 0o600))
	_, err := readRows[string, string](file)
	require.ErrorContains(t, err, "deep.jsonl:1: invalid character '[' exceeded max depth")
	require.NoError(t, os.WriteFile(file, make([]byte, maxData+1), 0o600))
	_, err = readRows[string, string](file)
	require.ErrorContains(t, err, "exceed the limit of 16777216")
}

// TestRowsThatLookAlike: ids name recordings, and where files do not tell case apart two rows would share one.
func TestRowsThatLookAlike(t *testing.T) {
	file := filepath.Join(t.TempDir(), "rows.jsonl")
	text := `{"id":"tea","input":"x"}` + "\n" + `{"id":"Tea","input":"y"}` + "\n"
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	_, err := readRows[string, string](file)
	require.EqualError(t, err, file+`:2: duplicate id "Tea", first on line 1`)
}

// TestNullInRows: null leaves a Go value as it is, so that it would look like an expected 0, or like no element.
func TestNullInRows(t *testing.T) {
	type want struct {
		Count int            `json:"count"`
		Tags  []string       `json:"tags"`
		By    map[string]int `json:"by"`
		Maybe *int           `json:"maybe"`
	}
	dir := t.TempDir()
	for text, bad := range map[string]bool{
		`{"count":null}`: true, `{"tags":["a",null]}`: true, `{"by":{"a":null}}`: true, `{"tags":null}`: true,
		`{"maybe":null,"count":1}`: false,
	} {
		file := filepath.Join(dir, "want.json")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		var got want
		err := readExpected(file, "want.json", &got)
		require.Equal(t, bad, err != nil, text)
		rows := filepath.Join(dir, "rows.jsonl")
		require.NoError(t, os.WriteFile(rows, []byte(`{"id":"a","input":"x","expected":`+text+"}\n"), 0o600))
		_, err = readRows[string, want](rows)
		require.Equal(t, bad, err != nil, text)
	}
}

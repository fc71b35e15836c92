package gocache

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Ids. Requests have them in base64.
var (
	action = bytes.Repeat([]byte{1}, idSize)
	other  = bytes.Repeat([]byte{2}, idSize)
	output = bytes.Repeat([]byte{3}, idSize)
)

func b64(data []byte) string { return base64.StdEncoding.EncodeToString(data) }

func get(id []byte) string {
	return fmt.Sprintf(`{"ID":1,"Command":"get","ActionID":"%s"}`+"\n", b64(id))
}

func put(id int, action, output []byte, body string) string {
	s := fmt.Sprintf(`{"ID":%d,"Command":"put","ActionID":"%s","OutputID":"%s","BodySize":%d}`+"\n",
		id, b64(action), b64(output), len(body))
	if body != "" {
		s += `"` + b64([]byte(body)) + "\"\n"
	}
	return s
}

// TestServe checks the answers to requests, after the line with the known commands. The user's cache has the output
// hello for the action, and new outputs are in $WRITE.
func TestServe(t *testing.T) {
	const file = "03/0303030303030303030303030303030303030303030303030303030303030303-d"
	hit := func(id, size int, dir string) string {
		return fmt.Sprintf(`{"ID":%d,"OutputID":"%s","Size":%d,"Time":"2026-01-02T03:04:05Z","DiskPath":"%s/%s"}`,
			id, b64(output), size, dir, file)
	}
	const stored, miss = `{"ID":7,"DiskPath":"$WRITE/` + file + `"}`, `{"ID":1,"Miss":true}`
	newText := put(7, other, output, "new text")
	changed := func(old, to string) string { return strings.Replace(newText, old, to, 1) }
	tests := []struct {
		name, in string
		want     []string
		err      string // ends the answers
	}{
		{name: "nothing"},
		{name: "empty-lines", in: "\n\n\n"},
		{name: "close", in: `{"ID":1,"Command":"close"}` + "\n" + get(action), want: []string{`{"ID":1}`}},
		{name: "close-without-line-end", in: `{"ID":1,"Command":"close"}`, want: []string{`{"ID":1}`}},
		{name: "hit", in: get(action), want: []string{hit(1, 5, "$READ")}},
		{name: "miss", in: get(other), want: []string{miss}},
		{name: "short-id", in: get(action[:31]), want: []string{miss}},
		{name: "no-id", in: `{"ID":1,"Command":"get"}` + "\n", want: []string{miss}},
		{name: "put", in: newText, want: []string{stored}},
		{
			name: "put-nothing",
			in:   put(7, other, output, "") + get(action), want: []string{stored, hit(1, 5, "$READ")},
		},
		{
			name: "put-with-empty-lines",
			in:   strings.Replace(put(7, other, output, "x"), "\n\"", "\n\n\n\"", 1) + "\n" + get(action),
			want: []string{stored, hit(1, 5, "$READ")},
		},
		{
			name: "put-with-invalid-id", in: put(7, other[:3], output, "new text") + get(other),
			want: []string{`{"ID":7,"Err":"invalid id"}`, miss},
		},
		{
			name: "put-no-output", in: put(7, other, nil, "new text") + get(other),
			want: []string{`{"ID":7,"Err":"invalid id"}`, miss},
		},
		{
			name: "unknown", in: `{"ID":3,"Command":"trim"}` + "\n" + get(other),
			want: []string{`{"ID":3,"Err":"unknown command \"trim\""}`, miss},
		},
		{
			name: "no-json", in: get(other) + "hello\n", want: []string{miss},
			err: "request: invalid character 'h' looking for beginning of value",
		},
		{name: "cut-request", in: get(other)[:20], err: "request: unexpected end of JSON input"},
		{name: "cut-before-body", in: strings.SplitAfter(newText, "\n")[0], err: "body: EOF"},
		{name: "cut-in-body", in: strings.TrimRight(newText, "=\"\n"), err: "unexpected EOF"},
		{name: "cut-after-body", in: strings.TrimRight(newText, "\"\n"), err: "body: EOF"},
		{name: "body-that-is-shorter", in: changed(`"BodySize":8`, `"BodySize":80`), err: "unexpected EOF"},
		{name: "body-that-is-longer", in: changed(`"BodySize":8`, `"BodySize":3`), err: "body: got 'I', want a quote"},
		{name: "body-of-no-string", in: changed("\n\"", "\n{"), err: "body: got '{', want a quote"},
		{name: "body-of-no-base64", in: changed("\n\"", "\n\"$"), err: "illegal base64 data at input byte 0"},
		{name: "negative-size", in: `{"ID":1,"Command":"put","BodySize":-1}` + "\n", err: "invalid body size -1"},
		{
			name: "largest-size", in: `{"ID":1,"Command":"put","BodySize":9223372036854775807}` + "\n\"\"\n",
			err: "unexpected EOF",
		},
		{
			name: "long-request", in: `{"Command":"` + strings.Repeat("x", maxRequest) + `"}` + "\n",
			err: "request exceeds the limit of 65536 bytes",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := store{write: t.TempDir(), read: []string{t.TempDir()}}
			writeEntry(t, s.read[0], action, "hello")
			var out bytes.Buffer
			err := serve(strings.NewReader(tt.in), &out, s)
			if tt.err == "" {
				require.NoError(t, err)
			} else {
				require.EqualError(t, err, tt.err)
			}
			want := append([]string{`{"ID":0,"KnownCommands":["get","put","close"]}`}, tt.want...)
			got := strings.NewReplacer(s.read[0], "$READ", s.write, "$WRITE").Replace(out.String())
			assert.Equal(t, want, strings.Split(strings.TrimSpace(got), "\n"))
		})
	}
}

// writeEntry puts an output into a cache as the go command does.
func writeEntry(t *testing.T, dir string, action []byte, text string) {
	t.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for path, content := range map[string]string{
		fileName(dir, output, "d"): text,
		fileName(dir, action, "a"): fmt.Sprintf("v1 %x %x %20d %20d\n", action, output, len(text), at.UnixNano()),
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
	}
}

// TestStore: a new output is found before that in the user's cache, which does not change.
func TestStore(t *testing.T) {
	s := store{write: filepath.Join(t.TempDir(), "made", "when needed"), read: []string{t.TempDir()}}
	writeEntry(t, s.read[0], action, "old")
	before := files(t, s.read[0])
	_, err := s.put(action, output, strings.NewReader("newer"), 5)
	require.NoError(t, err)
	e, path, ok := s.get(action)
	require.True(t, ok)
	assert.Equal(t, output, e.output)
	assert.Equal(t, fileName(s.write, output, "d"), path)
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "newer", string(content))
	assert.Equal(t, before, files(t, s.read[0]))

	_, err = s.put(other, output, strings.NewReader("cut"), 5)
	require.EqualError(t, err, "got 3 bytes, want 5")
	_, _, ok = s.get(other)
	assert.False(t, ok, "half an output")
	assert.Len(t, files(t, s.write), 2, "nothing is left of it")
}

// TestDamaged: an entry whose output is missing or differs is a miss.
func TestDamaged(t *testing.T) {
	tests := []struct {
		name   string
		damage func(output string) error
	}{
		{name: "gone", damage: os.Remove},
		{name: "cut", damage: func(path string) error { return os.Truncate(path, 2) }},
		{name: "grown", damage: func(path string) error { return os.WriteFile(path, []byte("hello world"), 0o644) }},
		{name: "directory", damage: func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Mkdir(path, 0o755)
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := store{write: t.TempDir(), read: []string{t.TempDir()}}
			writeEntry(t, s.read[0], action, "hello")
			require.NoError(t, tt.damage(fileName(s.read[0], output, "d")))
			_, _, ok := s.get(action)
			assert.False(t, ok)
		})
	}
}

// files returns the contents of the files below a directory, by path.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found[path] = string(data)
		return err
	}))
	return found
}

func TestParseEntry(t *testing.T) {
	const nanos = 1767323045000000000
	good := fmt.Sprintf("v1 %x %x %20d %20d\n", action, output, 5, nanos)
	tests := []struct{ name, text string }{
		{"empty", ""},
		{"cut", good[:len(good)-1]},
		{"longer", good + "\n"},
		{"of-another-action", strings.Replace(good, "01", "02", 1)},
		{"version", strings.Replace(good, "v1", "v2", 1)},
		{"output", strings.Replace(good, "0303", "03zz", 1)},
		{"size", strings.Replace(good, "     5 ", "    -5 ", 1)},
		{"no-size", strings.Replace(good, "     5 ", "     x ", 1)},
		{"time", strings.Replace(good, " 1767", " -767", 1)},
		{"fields", strings.Replace(good, "     5 ", "   5 5 ", 1)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			require.NotEqual(t, good, tt.text)
			_, err := parseEntry(tt.text, action)
			assert.Error(t, err)
		})
	}
	e, err := parseEntry(good, action)
	require.NoError(t, err)
	assert.Equal(t, entry{output, 5, time.Unix(0, nanos)}, e)
}

func FuzzParseEntry(f *testing.F) {
	f.Add(fmt.Sprintf("v1 %x %x %20d %20d\n", action, output, 5, 7))
	f.Fuzz(func(t *testing.T, text string) {
		e, err := parseEntry(text, action)
		if err != nil {
			return
		}
		if len(e.output) != idSize || e.size < 0 || !strings.Contains(text, hex.EncodeToString(action)) {
			t.Errorf("%q: %+v", text, e)
		}
	})
}

// FuzzServe: for every input, serve ends, its output is JSON, and the files in its answers are in the cache.
func FuzzServe(f *testing.F) {
	f.Add([]byte(get(action)))
	f.Add([]byte(put(1, action, output, "hello") + get(action) + `{"ID":2,"Command":"close"}`))
	f.Add([]byte(put(1, action, output, "") + strings.Replace(put(1, other, output, "hello"), `:5}`, `:9}`, 1)))
	f.Fuzz(func(t *testing.T, in []byte) {
		s := store{write: t.TempDir(), read: []string{t.TempDir()}}
		var out bytes.Buffer
		_ = serve(bytes.NewReader(in), &out, s) // an error for invalid input
		for dec := json.NewDecoder(&out); ; {
			var answer response
			err := dec.Decode(&answer)
			if err == io.EOF {
				return
			}
			require.NoError(t, err)
			if answer.DiskPath != "" {
				require.FileExists(t, answer.DiskPath)
				require.Equal(t, s.write, filepath.Dir(filepath.Dir(answer.DiskPath)))
			}
		}
	})
}

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{
		"/a b": "'/a b'", "": "''", "/it's": `"/it's"`, `/a"b`: `'/a"b'`,
	} {
		assert.Equal(t, want, quote(word))
	}
}

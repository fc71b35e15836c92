package secret_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/secret"
)

func write(t *testing.T, w io.Writer, text string) {
	t.Helper()
	n, err := io.WriteString(w, text)
	require.NoError(t, err)
	require.Equal(t, len(text), n)
}

func TestWriterHoldsLittle(t *testing.T) {
	var s secret.Set
	s.Mark("A", "!abcdefgh")
	var b strings.Builder
	w := s.Writer(&b)
	for _, step := range []struct{ text, want string }{
		{"plain text.", "plain text."}, // nothing in it may begin a secret
		{" !abcdefg", "plain text. "},
		{"?", "plain text. !abcdefg?"},
		{"!!abcdefgh", "plain text. !abcdefg?![REDACTED:A]"},
		{"sk-", "plain text. !abcdefg?![REDACTED:A]sk"}, // the text is inside a word, but a key may follow the dash
		{" sk-", "plain text. !abcdefg?![REDACTED:A]sk- "},
		{" ", "plain text. !abcdefg?![REDACTED:A]sk- sk- "},
		{"sk-" + "aaaaaaaaaaaaaaaaaaaa", "plain text. !abcdefg?![REDACTED:A]sk- sk- [REDACTED:key]"},
		{strings.Repeat("a", 1<<20), "plain text. !abcdefg?![REDACTED:A]sk- sk- [REDACTED:key]"},
		{".", "plain text. !abcdefg?![REDACTED:A]sk- sk- [REDACTED:key]."},
	} {
		write(t, w, step.text)
		assert.Equal(t, step.want, b.String(), "after %.40q", step.text)
	}
	require.NoError(t, w.Close())
}

func TestWriterFlush(t *testing.T) {
	var s secret.Set
	s.Mark("A", "abcdefgh")
	var b strings.Builder
	w := s.Writer(&b)
	write(t, w, "abcd")
	require.NoError(t, w.Flush())
	assert.Equal(t, "abcd", b.String())
	write(t, w, "efgh abcdefgh")
	require.NoError(t, w.Close())
	require.NoError(t, w.Close())
	assert.Equal(t, "abcdefgh [REDACTED:A]", b.String(), "a flush ends what may be a secret")
}

// failing is a writer that fails after some writes.
type failing struct{ left int }

var errFull = errors.New("full")

func (f *failing) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errFull
	}
	return len(p), nil
}

func TestWriterError(t *testing.T) {
	var s secret.Set
	for name, w := range map[string]io.WriteCloser{"Writer": s.Writer(&failing{1}), "Lines": s.Lines(&failing{1})} {
		t.Run(name, func(t *testing.T) {
			write(t, w, "one\n")
			for range 2 {
				_, err := io.WriteString(w, "two\n")
				require.ErrorIs(t, err, errFull)
			}
			require.ErrorIs(t, w.Close(), errFull)
		})
	}
}

func TestLines(t *testing.T) {
	var s secret.Set
	s.Mark("A", "abcd\"efgh")
	var b strings.Builder
	w := s.Lines(&b)
	write(t, w, "{\"a\":\"ab")
	assert.Empty(t, b.String(), "lines are written whole")
	write(t, w, "cd\\u0022efgh\"}\nno JSON abcd\"efgh\n\n{\"b\":")
	assert.Equal(t, "{\"a\":\"[REDACTED:A]\"}\nno JSON [REDACTED:A]\n\n", b.String())
	require.NoError(t, w.Close())
	assert.Equal(t, "{\"a\":\"[REDACTED:A]\"}\nno JSON [REDACTED:A]\n\n{\"b\":", b.String())
}

func TestLongLine(t *testing.T) {
	var s secret.Set
	s.Mark("A", "abcdefgh")
	var b strings.Builder
	w := s.Lines(&b)
	long := strings.Repeat("long ", 1<<20)
	write(t, w, "\"abcdefgh ")
	for range 4 {
		write(t, w, long)
	}
	assert.Less(t, 16<<20, b.Len(), "a line of any length does not fill the memory")
	write(t, w, "abcd")
	write(t, w, "efgh\"\n{\"a\":\"\\u0061bcdefgh\"}\n")
	require.NoError(t, w.Close())
	got := b.String()
	assert.Equal(t, "\"[REDACTED:A] long ", got[:19])
	assert.Equal(t, " [REDACTED:A]\"\n{\"a\":\"[REDACTED:A]\"}\n", got[len(got)-36:])
}

func TestWriteFile(t *testing.T) {
	var s secret.Set
	s.Mark("A", "nabcdefgh")
	dir := t.TempDir()
	for name, want := range map[string]string{
		"a.json": `{"a":"\nabcdefgh [REDACTED:A]"}`, "a.txt": `{"a":"\[REDACTED:A] [REDACTED:A]"}`,
	} {
		path := filepath.Join(dir, name)
		for _, perm := range []os.FileMode{0o600, 0o644} { // a file that is there is replaced
			require.NoError(t, s.WriteFile(path, []byte(`{"a":"\nabcdefgh nabcdefgh"}`), perm))
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			assert.Equal(t, want, string(data))
			if info, err := os.Stat(path); assert.NoError(t, err) && runtime.GOOS != "windows" {
				assert.Equal(t, perm, info.Mode())
			}
		}
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "dir"), 0o755))
	require.Error(t, s.WriteFile(filepath.Join(dir, "dir"), nil, 0o644), "a directory is not replaced")
	err := s.WriteFile(filepath.Join(dir, "nabcdefgh", "file"), nil, 0o644)
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.NotContains(t, err.Error(), "nabcdefgh")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 3, "no temporary file is left")
}

func TestWriteLines(t *testing.T) {
	s := new(secret.Set)
	s.Mark("TOKEN", "a-value-that-is-secret")
	path := filepath.Join(t.TempDir(), "run.json")
	require.NoError(t, s.WriteLines(path, 0o600, func(w io.Writer) error {
		_, err := io.WriteString(w, "[\n\"a-value-that-\\u0069s-secret\"")
		require.NoError(t, err)
		_, err = io.WriteString(w, ",\n1]")
		return err
	}))
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "[\n\"[REDACTED:TOKEN]\",\n1]", string(got))
	require.ErrorIs(t, s.WriteLines(path, 0o600, func(io.Writer) error { return io.ErrShortWrite }), io.ErrShortWrite)
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, got, again, "it stays as it was")
}

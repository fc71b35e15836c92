package secrettest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/secrettest"
)

// texts are hard to write: each has characters that some writer escapes.
var texts = []string{"plain-0123456789", `quote"back\slash`, "a/b+c=d e&f<g>'h", "two\nlines", "é€𝄞-beyond-ascii"}

// TestForms: a text is found in each of its forms, and nothing else is.
func TestForms(t *testing.T) {
	for _, text := range texts {
		forms := secrettest.Forms(text)
		require.GreaterOrEqual(t, len(forms), 9, "%q", text)
		for _, form := range forms {
			for _, around := range [][2]string{{"", ""}, {" ", " "}, {"key=", ";"}, {`{"a":"`, `"}`}, {"<p>", "</p>"}} {
				assert.Equal(t, []string{text}, secrettest.Scan(around[0]+form+around[1], texts...), "%q", form)
			}
		}
	}
	assert.Empty(t, secrettest.Scan("plain-012345678 [REDACTED:A] cGxhaW4tMDEyMzQ1Njc4", texts...))
}

func TestScanDir(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "d", "x-plain-0123456789"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "d", "file"), []byte(`{"a": "two\nlines"}`), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "clean"), []byte("two lines"), 0o644))
	want := []string{
		`"plain-0123456789" in the name of "d/x-plain-0123456789"`,
		`"two\nlines" in the content of "d/file"`,
	}
	if err := os.Symlink("/plain-0123456789", filepath.Join(dir, "link")); err == nil { // not everybody may, on Windows
		want = append([]string{`"plain-0123456789" in the content of "link"`}, want...)
	}
	found, err := secrettest.ScanDir(dir, texts...)
	require.NoError(t, err)
	if filepath.Separator == '/' {
		assert.Equal(t, want, found)
	}
	_, err = secrettest.ScanDir(filepath.Join(dir, "nothing"), texts...)
	require.ErrorIs(t, err, os.ErrNotExist)
}

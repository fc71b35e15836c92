package secret_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/secrettest"
)

// account returns the set of a preset's secrets, added as those of every preset.
func account() *secret.Set {
	s := new(secret.Set)
	for _, variables := range []map[string]string{secrettest.Secrets, secrettest.Settings} {
		for name, value := range variables {
			s.Add(name, value)
		}
	}
	return s
}

// TestAccount masks an account's secrets by every method. Package secrettest, which does not share the code for forms,
// looks for them.
func TestAccount(t *testing.T) {
	s, text := account(), secrettest.AllForms()
	require.NotEmpty(t, secrettest.Scan(text, secrettest.Texts()...))
	inJSON, err := json.Marshal(map[string]any{text: []string{text}})
	require.NoError(t, err)
	stream := func(size int) string {
		var b strings.Builder
		w := s.Writer(&b)
		for rest := text; rest != ""; rest = rest[min(size, len(rest)):] {
			write(t, w, rest[:min(size, len(rest))])
		}
		require.NoError(t, w.Close())
		return b.String()
	}
	for name, masked := range map[string]string{
		"String": s.String(text), "JSON": string(s.JSON(inJSON)), "Writer, by bytes": stream(1),
		"Writer, by seven": stream(7),
	} {
		assert.Empty(t, secrettest.Scan(masked, secrettest.Texts()...), name)
		for setting, value := range secrettest.Settings {
			assert.Contains(t, masked, setting+"="+value, "%s: a setting is no secret", name)
		}
	}
	assert.True(t, json.Valid(s.JSON(inJSON)))
}

// TestAccountInFiles writes each form to a file of its own, and to the file's name. Each is found, and then none is
// left.
func TestAccountInFiles(t *testing.T) {
	s, dir, planted := account(), t.TempDir(), 0
	for _, value := range secrettest.Secrets {
		for _, form := range secrettest.Forms(value) {
			planted++
			sub := filepath.Join(dir, strings.Repeat("x", planted))
			require.NoError(t, os.Mkdir(sub, 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(sub, "file"), []byte("before "+form+" after"), 0o644))
			if !strings.ContainsAny(form, "/\\\n:<>|?*\"") { // no name of a file, on one system or another
				require.NoError(t, os.WriteFile(filepath.Join(sub, form), nil, 0o644))
			}
		}
	}
	found, err := s.Scrub(t.Context(), dir, nil)
	require.NoError(t, err)
	files := make(map[string]bool)
	for _, f := range found {
		files[filepath.Dir(filepath.FromSlash(f.Path))] = true
	}
	assert.Len(t, files, planted)
	left, err := secrettest.ScanDir(dir, secrettest.Texts()...)
	require.NoError(t, err)
	assert.Empty(t, left)
}

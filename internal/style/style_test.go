package style

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

func embeddedStyle(t *testing.T, name string) *Style {
	t.Helper()
	s, err := Load(name, "")
	require.NoError(t, err)
	return s
}

func TestEmbeddedTrees(t *testing.T) {
	for _, name := range builtIn {
		t.Run(name, func(t *testing.T) {
			s := embeddedStyle(t, name)
			assert.Equal(t, name, s.Name())
			paths := slices.Sorted(maps.Keys(s.Files()))
			golden.Equal(t, "testdata/"+name+".txt", strings.Join(paths, "\n")+"\n")
		})
	}
}

func TestNamesAreWhatIsEmbedded(t *testing.T) {
	dirs, err := embedded.ReadDir("embedded")
	require.NoError(t, err)
	var names []string
	for _, d := range dirs {
		names = append(names, d.Name())
	}
	slices.Sort(names)
	assert.Equal(t, names, builtIn)
}

func TestEmbeddedStylesDiffer(t *testing.T) {
	light, heavy := embeddedStyle(t, "sdd").Files(), embeddedStyle(t, "sdd-legacy").Files()
	assert.Greater(t, len(heavy), len(light))
	for p, data := range light {
		assert.NotEqual(t, string(data), string(heavy[p]), p)
	}
}

func TestUnknownStyleIsNamed(t *testing.T) {
	_, err := Load("ssd", "")
	assert.EqualError(t, err,
		`load style "ssd": unknown style; built in are sdd and sdd-legacy, others need a directory under styles`)
}

func TestFilesBelongToTheCaller(t *testing.T) {
	s := embeddedStyle(t, "sdd")
	files := s.Files()
	files[agentsFile][0] = 'X'
	assert.NotEqual(t, files[agentsFile], s.Files()[agentsFile])
}

// readTree returns the contents of all files below dir.
func readTree(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(p string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		require.NoError(t, err)
		data, err := os.ReadFile(p)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	}))
	return files
}

func writeTree(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for p, data := range files {
		file := filepath.Join(dir, filepath.FromSlash(p))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(data), 0o644))
	}
	return dir
}

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return root
}

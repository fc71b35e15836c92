package workspace_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// TestSeedsOfLinks holds that links become what they lead to, and that none leads elsewhere.
func TestSeedsOfLinks(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a/b/run"), []byte("text"), 0o755))
	link := func(to, at string) { require.NoError(t, os.Symlink(to, filepath.Join(dir, at))) }
	link("b/run", "a/file")
	link("a", "tree")
	link("tree", "twice")
	link("../elsewhere", "out") // it is left out, and noted
	load := func() (map[string]workspace.Seed, error) {
		tmpl, err := workspace.Load(t.Context(), workspace.Source{Dir: dir})
		require.NoError(t, err)
		return tmpl.Seeds(t.Context())
	}
	got, err := load()
	require.NoError(t, err)
	seed := workspace.Seed{Data: []byte("text"), Exec: true}
	assert.Equal(t, map[string]workspace.Seed{
		"a/b/run": seed, "a/file": seed, "tree/b/run": seed, "tree/file": seed, "twice/b/run": seed, "twice/file": seed,
	}, got)
	for _, c := range []struct{ to, at, want string }{
		{"nothing", "dangling", `dangling is a symbolic link to "nothing", which is none of the files`},
		{"..", "a/up", `a/up is a symbolic link to "..", which is none of the files`},
		{".", "a/self", "lead into each other"},
		{"../../tree", "a/b/round", "lead into each other"},
		{"circle2", "circle1", `circle2 is a symbolic link to "circle1", which is none of the files`},
	} {
		link(c.to, c.at)
		if c.at == "circle1" {
			link("circle1", "circle2")
		}
		_, err := load()
		assert.ErrorContains(t, err, c.want)
		require.NoError(t, os.Remove(filepath.Join(dir, c.at)))
	}
}

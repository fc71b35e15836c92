//go:build unix

package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestList: entries are as package os lists them, and looked at below the root, also if a link stands at its path now.
func TestList(t *testing.T) {
	dir := t.TempDir()
	inner := filepath.Join(dir, "root", "in")
	require.NoError(t, os.MkdirAll(filepath.Join(inner, "dir"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(inner, "file"), []byte("text"), 0o600))
	require.NoError(t, os.Symlink("file", filepath.Join(inner, "link")))
	want, err := os.ReadDir(inner)
	require.NoError(t, err)
	root, err := os.OpenRoot(filepath.Join(dir, "root"))
	require.NoError(t, err)
	defer root.Close()
	entries, err := List(root, "in", -1)
	require.NoError(t, err)
	kinds := make(map[string]fs.FileMode)
	for _, e := range entries {
		kinds[e.Name()] = e.Type()
	}
	for _, e := range want {
		require.Equal(t, e.Type(), kinds[e.Name()], e.Name())
	}
	require.Len(t, kinds, len(want))
	few, err := List(root, "in", 2)
	require.NoError(t, err)
	require.Len(t, few, 2)

	require.NoError(t, os.Rename(filepath.Join(dir, "root"), filepath.Join(dir, "moved")))
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		require.Equal(t, e.Type(), info.Mode().Type(), e.Name())
	}
	_, err = List(root, "missing", -1)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

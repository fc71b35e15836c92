package disk

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestReplace(t *testing.T) {
	for _, tt := range []struct {
		name    string
		replace func(string, []byte, fs.FileMode) error
	}{
		{"Replace", Replace},
		{"Put", func(path string, data []byte, perm fs.FileMode) error {
			return Put(path, perm, func(w io.Writer) error {
				_, err := w.Write(data)
				return err
			})
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "file")
			other := filepath.Join(dir, "other")
			require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
			require.NoError(t, os.Link(path, other))
			require.NoError(t, tt.replace(path, []byte("new"), 0o644))
			got, err := os.ReadFile(path)
			require.NoError(t, err)
			require.Equal(t, "new", string(got))
			got, err = os.ReadFile(other)
			require.NoError(t, err)
			require.Equal(t, "old", string(got), "another link keeps its content")

			require.NoError(t, os.Mkdir(filepath.Join(dir, "dir"), 0o755))
			require.NoError(t, os.WriteFile(filepath.Join(dir, "dir", "x"), nil, 0o644))
			require.Error(t, tt.replace(filepath.Join(dir, "dir"), nil, 0o644))
			require.Error(t, tt.replace(filepath.Join(dir, "none", "file"), nil, 0o644))
			require.ErrorIs(t, Put(path, 0o644, func(io.Writer) error { return io.ErrShortWrite }), io.ErrShortWrite)
			entries, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Len(t, entries, 3, "no temporary file is left")
		})
	}
}

func TestCreate(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	require.NoError(t, Tree(dir).Create(path, []byte("new"), 0o640))
	require.ErrorIs(t, Tree(dir).Create(path, []byte("newer"), 0o644), fs.ErrExist)
	got, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "new", string(got))
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file is left")
	if runtime.GOOS != "windows" {
		info, err := entries[0].Info()
		require.NoError(t, err)
		require.Equal(t, fs.FileMode(0o640), info.Mode())
	}
}

func TestRemoveAll(t *testing.T) {
	base := t.TempDir()
	for _, remove := range []func(string) error{RemoveAll, Tree(base).RemoveAll} {
		tree := filepath.Join(base, "tree")
		require.NoError(t, os.MkdirAll(filepath.Join(tree, "a", "b"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(tree, "a", "b", "file"), nil, 0o444))
		require.NoError(t, os.Chmod(filepath.Join(tree, "a", "b"), 0o555))
		require.NoError(t, os.Chmod(filepath.Join(tree, "a"), 0o555))
		require.NoError(t, remove(tree))
		require.NoDirExists(t, tree)
		require.NoError(t, remove(tree), "a missing tree is no error")
	}
}

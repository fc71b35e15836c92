//go:build unix

package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestMove moves a tree by renaming and by copying: both leave the same.
func TestMove(t *testing.T) {
	when := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, move := range map[string]func(from, to string) error{
		"renamed": func(from, to string) error { return Move(t.Context(), from, to) },
		"copied": func(from, to string) error {
			return Copy(t.Context(), from, filepath.Join(to, "..", "copy"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
			require.NoError(t, os.MkdirAll(filepath.Join(from, "closed"), 0o755))
			require.NoError(t, os.Mkdir(to, 0o755))
			for path, mode := range map[string]fs.FileMode{"run": 0o755, "closed/secret": 0, "plain": 0o644} {
				require.NoError(t, os.WriteFile(filepath.Join(from, path), []byte(path), 0o600))
				require.NoError(t, os.Chmod(filepath.Join(from, path), mode))
				require.NoError(t, os.Chtimes(filepath.Join(from, path), when, when))
			}
			require.NoError(t, os.Symlink("/nowhere", filepath.Join(from, "link")))
			require.NoError(t, os.Chmod(filepath.Join(from, "closed"), 0o300))
			if name == "copied" {
				require.NoError(t, syscall.Mkfifo(filepath.Join(from, "fifo"), 0o600))
			}
			require.NoError(t, move(from, to))
			if name == "copied" {
				to = filepath.Join(dir, "copy")
				assert.NoFileExists(t, filepath.Join(to, "fifo"))
			} else {
				assert.NoDirExists(t, from)
			}

			mode := func(path string) fs.FileMode {
				info, err := os.Lstat(filepath.Join(to, path))
				require.NoError(t, err)
				return info.Mode()
			}
			assert.Equal(t, fs.FileMode(0o300), mode("closed").Perm())
			require.NoError(t, os.Chmod(filepath.Join(to, "closed"), 0o700))
			assert.Equal(t, fs.FileMode(0o755), mode("run"))
			assert.Equal(t, fs.FileMode(0), mode("closed/secret"))
			require.NoError(t, os.Chmod(filepath.Join(to, "closed/secret"), 0o600))
			data, err := os.ReadFile(filepath.Join(to, "closed/secret"))
			require.NoError(t, err)
			assert.Equal(t, "closed/secret", string(data))
			target, err := os.Readlink(filepath.Join(to, "link"))
			require.NoError(t, err)
			assert.Equal(t, "/nowhere", target)
			info, err := os.Stat(filepath.Join(to, "plain"))
			require.NoError(t, err)
			assert.True(t, info.ModTime().Equal(when))
		})
	}

	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "from"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "to", "full"), 0o755))
	require.Error(t, Move(t.Context(), filepath.Join(dir, "from"), filepath.Join(dir, "to")))
	assert.DirExists(t, filepath.Join(dir, "from"))
}

//go:build unix

package disk

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// deepTree makes directories within each other whose path is longer than a system takes, all closed, and returns the
// first.
func deepTree(t *testing.T, levels int) string {
	t.Helper()
	top := filepath.Join(t.TempDir(), "deep")
	require.NoError(t, os.Mkdir(top, 0o755))
	name := strings.Repeat("n", 200)
	at, err := os.OpenRoot(top)
	require.NoError(t, err)
	for range levels {
		require.NoError(t, at.Mkdir(name, 0o755))
		below, err := at.OpenRoot(name)
		require.NoError(t, err)
		require.NoError(t, at.Chmod(name, 0))
		require.NoError(t, at.Close())
		at = below
	}
	require.NoError(t, at.WriteFile("file", []byte("text"), 0o400))
	require.NoError(t, at.Close())
	return top
}

// TestRemoveAllDeep removes a tree by its path, and as an entry of a directory. Where we are root nothing is closed to
// us; TestCleanRemovesReadOnlyDirectories of package rundir is about modes.
func TestRemoveAllDeep(t *testing.T) {
	if os.Getuid() == 0 {
		limit(t, 200)
	}
	top := deepTree(t, 400)
	require.Error(t, os.RemoveAll(top), "else the test shows nothing")
	require.NoError(t, RemoveAll(top))
	require.NoDirExists(t, top)

	top = deepTree(t, 400)
	root, err := os.OpenRoot(filepath.Dir(top))
	require.NoError(t, err)
	defer root.Close()
	require.Error(t, root.RemoveAll("deep"), "else the test shows nothing")
	require.NoError(t, RemoveAllIn(root, "deep"))
	require.NoDirExists(t, top)
}

// limit has at most n files open at the same time.
func limit(t *testing.T, n uint64) {
	t.Helper()
	var was syscall.Rlimit
	require.NoError(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &was))
	require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: n, Max: was.Max}))
	t.Cleanup(func() { require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_NOFILE, &was)) })
}

func TestCopyDeep(t *testing.T) {
	top := deepTree(t, 400)
	to := filepath.Join(t.TempDir(), "copy")
	require.NoError(t, Copy(t.Context(), top, to))
	levels := 0
	at, err := os.OpenRoot(to)
	require.NoError(t, err)
	for name := strings.Repeat("n", 200); ; levels++ {
		info, err := at.Lstat(name)
		if err != nil {
			break
		}
		assert.Equal(t, fs.ModeDir, info.Mode())
		require.NoError(t, at.Chmod(name, 0o700))
		below, err := at.OpenRoot(name)
		require.NoError(t, err)
		require.NoError(t, at.Close())
		at = below
	}
	assert.Equal(t, 400, levels)
	data, err := at.ReadFile("file")
	require.NoError(t, err)
	assert.Equal(t, "text", string(data))
	require.NoError(t, at.Close())
	require.NoError(t, RemoveAll(to))
	require.NoError(t, RemoveAll(top))

	top = deepTree(t, 600)
	require.ErrorContains(t, Copy(t.Context(), top, to), "more than 500 directories are within each other")
	require.NoError(t, RemoveAll(to))
	require.NoError(t, RemoveAll(top))
}

// TestCopySparse copies a file with holes, which would fill the disk without them.
func TestCopySparse(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("holes are read there")
	}
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	require.NoError(t, os.Mkdir(from, 0o755))
	const size, first, last = 1 << 40, 1 << 30, 1<<40 - 4
	f, err := os.Create(filepath.Join(from, "sparse"))
	require.NoError(t, err)
	for _, at := range []int64{first, last} {
		_, err = f.WriteAt([]byte("text"), at)
		require.NoError(t, err)
	}
	require.NoError(t, f.Close())
	require.NoError(t, os.Truncate(filepath.Join(from, "sparse"), size))
	if info, err := os.Stat(filepath.Join(from, "sparse")); err != nil || info.Sys().(*syscall.Stat_t).Blocks > 1000 {
		t.Skip("the file system has no holes:", err)
	}
	require.NoError(t, os.WriteFile(filepath.Join(from, "empty"), nil, 0o644))
	require.NoError(t, Copy(t.Context(), from, to))
	info, err := os.Stat(filepath.Join(to, "sparse"))
	require.NoError(t, err)
	assert.Equal(t, int64(size), info.Size())
	assert.Less(t, info.Sys().(*syscall.Stat_t).Blocks, int64(1000))
	f, err = os.Open(filepath.Join(to, "sparse"))
	require.NoError(t, err)
	defer f.Close()
	for _, at := range []int64{first, last} {
		text := make([]byte, 4)
		_, err = f.ReadAt(text, at)
		require.NoError(t, err)
		assert.Equal(t, "text", string(text))
	}
	info, err = os.Stat(filepath.Join(to, "empty"))
	require.NoError(t, err)
	assert.Zero(t, info.Size())

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, Copy(ended, from, filepath.Join(dir, "again")), context.Canceled)
}

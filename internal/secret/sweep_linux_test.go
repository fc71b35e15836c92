package secret_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// unprivileged runs work as somebody to whom permissions apply: only this thread changes, and it ends with its
// goroutine. Checks in it are those of assert.
func unprivileged(t *testing.T, work func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // and never unlocks
		defer close(done)
		if os.Geteuid() == 0 && !assert.NoError(t, unix.Setfsuid(65534)) {
			return
		}
		work()
	}()
	<-done
}

// TestScrubClosed: what is ours and closed to us is opened, searched and masked.
func TestScrubClosed(t *testing.T) {
	var s secret.Set
	s.Mark("A", "first-secret")
	top := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(top), 0o755))
	require.NoError(t, os.Chmod(top, 0o777))
	for name, look := range map[string]func(context.Context, string) ([]secret.Finding, error){
		"sweep": s.Sweep,
		"scrub": func(ctx context.Context, dir string) ([]secret.Finding, error) { return s.Scrub(ctx, dir, nil) },
	} {
		dir := filepath.Join(top, name)
		unprivileged(t, func() {
			in := func(name string) string { return filepath.Join(dir, name) }
			for _, name := range []string{"", "closed", "listed", "passed"} {
				assert.NoError(t, os.Mkdir(in(name), 0o755))
				assert.NoError(t, os.WriteFile(in(name+"/file"), []byte("first-secret"), 0))
			}
			for _, dir := range []struct {
				name string
				mode fs.FileMode
			}{{"closed", 0}, {"listed", 0o400}, {"passed", 0o300}, {"", 0o200}} { // the one above them last
				assert.NoError(t, os.Chmod(in(dir.name), dir.mode))
			}
			found, err := look(t.Context(), dir)
			assert.NoError(t, err)
			assert.Equal(t, []secret.Finding{
				{Path: "closed/file", Name: "A"},
				{Path: "file", Name: "A"},
				{Path: "listed/file", Name: "A"},
				{Path: "passed/file", Name: "A"},
			}, found)
			for _, f := range found {
				data, err := os.ReadFile(in(f.Path))
				assert.NoError(t, err)
				assert.Equal(t, name == "scrub", string(data) == "[REDACTED:A]", string(data))
			}
		})
	}
}

// TestScrubOfOthers: what is not ours and closed to us is named, and does not stay in what is kept.
func TestScrubOfOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it takes root to make files of others")
	}
	var s secret.Set
	s.Mark("A", "first-secret")
	dir := tree(t, map[string]string{"file": "first-secret"})
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(dir, 0o777))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "first-secret"), nil, 0))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "closed"), 0))
	require.NoError(t, os.MkdirAll(filepath.Join(dir, "full", "below"), 0o700))
	unprivileged(t, func() {
		got, err := s.Sweep(t.Context(), dir)
		unsearched, ok := errors.AsType[*secret.UnsearchedError](err)
		if assert.True(t, ok, err) {
			assert.False(t, unsearched.Removed)
		}
		assert.ErrorIs(t, err, os.ErrPermission)
		assert.NotErrorIs(t, err, secret.ErrCutOff)
		assert.ErrorContains(t, err, "could not be searched: closed: ")
		assert.NotContains(t, err.Error(), "first-secret")
		assert.Len(t, got, 2)
	})
	unprivileged(t, func() {
		_, err := s.Scrub(t.Context(), dir, nil)
		assert.ErrorContains(t, err, "could not be searched and was removed: closed: ")
		assert.NoDirExists(t, filepath.Join(dir, "closed"))
		assert.NoFileExists(t, filepath.Join(dir, "first-secret"))
		assert.ErrorContains(t, err, "full: openat: permission denied; and it could not be removed: ")
		assert.ErrorIs(t, err, secret.ErrCutOff, "it cannot be kept")
	})
}

// TestScrubDeep: a tree that is too deep for a path is searched, and one that is too deep for anybody is not kept.
func TestScrubDeep(t *testing.T) {
	var s secret.Set
	s.Mark("A", "first-secret")
	dir := t.TempDir()
	for name, levels := range map[string]int{strings.Repeat("n", 200): 400, "d": 600} {
		at, err := os.OpenRoot(dir)
		require.NoError(t, err)
		for range levels {
			require.NoError(t, at.Mkdir(name, 0o755))
			below, err := at.OpenRoot(name)
			require.NoError(t, err)
			require.NoError(t, at.Close())
			at = below
		}
		require.NoError(t, at.WriteFile("first-secret", []byte("first-secret"), 0o644))
		require.NoError(t, at.Close())
	}
	t.Cleanup(func() { require.NoError(t, disk.RemoveAll(dir)) })
	found, err := s.Scrub(t.Context(), dir, nil)
	require.Len(t, found, 2)
	assert.True(t, strings.HasSuffix(found[0].Path, "nnn/[REDACTED:A]"), found[0].Path)
	assert.Less(t, len(found[0].Path), 1100)
	require.ErrorContains(t, err, "could not be searched and was removed: d/d/d/")
	require.ErrorContains(t, err, "more than 500 directories within each other")
	found, err = s.Sweep(t.Context(), dir)
	require.NoError(t, err)
	assert.Empty(t, found)
}

// TestScrubSparse: of a file that is nearly all hole, what is in it is read, and masked it is as large as before.
func TestScrubSparse(t *testing.T) {
	var s secret.Set
	s.Mark("A", "first-secret")
	dir := t.TempDir()
	path := filepath.Join(dir, "sparse")
	f, err := os.Create(path)
	require.NoError(t, err)
	const size, at = 8 << 40, 4<<40 + 1<<20 - 6 // no machine reads that in time
	_, err = f.WriteAt([]byte("x"), 0)
	require.NoError(t, err)
	_, err = f.WriteAt([]byte("first-secret."), at)
	require.NoError(t, err)
	require.NoError(t, f.Truncate(size))
	require.NoError(t, f.Close())
	blocks := func() int64 {
		var info unix.Stat_t
		require.NoError(t, unix.Stat(path, &info))
		return info.Blocks
	}
	if blocks() > 1000 {
		t.Skip("the file system has no holes")
	}
	found, err := s.Scrub(t.Context(), dir, nil)
	require.NoError(t, err)
	require.Equal(t, []secret.Finding{{Path: "sparse", Offset: at, Name: "A"}}, found)
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, int64(size), info.Size())
	require.Less(t, blocks(), int64(1000))
	f, err = os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	data := make([]byte, 20)
	_, err = f.ReadAt(data, at)
	require.NoError(t, err)
	require.Equal(t, "[REDACTED:A].", strings.TrimRight(string(data), "\x00"))
	found, err = s.Sweep(t.Context(), dir)
	require.NoError(t, err)
	require.Empty(t, found)
}

// endingAfter is a context that ends when it has been asked so often whether it has.
type endingAfter struct {
	context.Context
	asked int
}

func (e *endingAfter) Err() error {
	if e.asked--; e.asked < 0 {
		return context.DeadlineExceeded
	}
	return nil
}

// TestScrubCutOff: wherever its context ends, also in the middle of a file, a search says that it is not through, and
// removes nothing.
func TestScrubCutOff(t *testing.T) {
	var s secret.Set
	s.Mark("A", "first-secret")
	text := strings.Repeat("x", 300<<10) + "first-secret"
	for asked := 0; ; asked++ {
		dir := tree(t, map[string]string{"a/file": text, "b": text})
		_, err := s.Scrub(&endingAfter{t.Context(), asked}, dir, nil)
		assert.FileExists(t, filepath.Join(dir, "a", "file"))
		assert.FileExists(t, filepath.Join(dir, "b"))
		assert.NoFileExists(t, filepath.Join(dir, ".scrub"))
		if err == nil {
			require.Greater(t, asked, 20)
			return
		}
		require.ErrorIs(t, err, secret.ErrCutOff)
		_, unsearched := errors.AsType[*secret.UnsearchedError](err)
		require.False(t, unsearched, err)
	}
}

// TestScrubBits takes the setuid and setgid bits away, also where there is no secret to look for.
func TestScrubBits(t *testing.T) {
	dir := tree(t, map[string]string{"tool": "", "plain": "", "shared/file": ""})
	for name, mode := range map[string]fs.FileMode{
		"tool": fs.ModeSetuid | fs.ModeSetgid | 0o755, "plain": 0o640, "shared": fs.ModeSetgid | 0o750,
		".": fs.ModeSetgid | 0o700,
	} {
		require.NoError(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	_, err := new(secret.Set).Scrub(t.Context(), dir, nil)
	require.NoError(t, err)
	for name, mode := range map[string]fs.FileMode{
		"tool": 0o755, "plain": 0o640, "shared": fs.ModeDir | 0o750, ".": fs.ModeDir | 0o700,
	} {
		info, err := os.Stat(filepath.Join(dir, name))
		require.NoError(t, err)
		assert.Equal(t, mode, info.Mode(), name)
	}
}

package rundir

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// unprivileged runs a function as a user to whom permissions apply. Only this thread changes its user, and it ends with
// its goroutine.
func unprivileged(t *testing.T, work func()) {
	t.Helper()
	done := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocks
		if os.Geteuid() == 0 {
			if err := unix.Setfsuid(65534); err != nil {
				done <- err
				return
			}
		}
		defer close(done) // also when a check fails, which ends the goroutine
		work()
	}()
	require.NoError(t, <-done)
}

// openToAll lets every user write below dir.
func openToAll(t *testing.T, dir string) {
	t.Helper()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o777))
	require.NoError(t, os.Chmod(dir, 0o777))
}

func TestCleanRemovesReadOnlyDirectories(t *testing.T) {
	root := t.TempDir()
	openToAll(t, root)
	unprivileged(t, func() {
		run, err := Create(root, demo(1), nil, nil)
		if !assert.NoError(t, err) {
			return
		}
		module := filepath.Join(run.Dir(), "variants", "a", "workspace", "mod")
		assert.NoError(t, os.MkdirAll(filepath.Join(module, "below"), 0o755))
		assert.NoError(t, os.WriteFile(filepath.Join(module, "below", "go.mod"), nil, 0o444))
		assert.NoError(t, os.Chmod(filepath.Join(module, "below"), 0o555))
		assert.NoError(t, os.Chmod(module, 0o555))
		assert.NoError(t, run.Close())
		assert.Error(t, os.RemoveAll(module), "else the test shows nothing")
		removed, err := Clean(root, 0)
		assert.NoError(t, err)
		assert.Equal(t, []string{run.ID()}, removed)
		assert.NoDirExists(t, run.Dir())
	})
}

func TestReadOnlyProject(t *testing.T) {
	root := t.TempDir()
	openToAll(t, root)
	ids := someRuns(t, root, 1)
	require.NoError(t, os.Chmod(root, 0o555))
	unprivileged(t, func() {
		_, err := Create(filepath.Join(root, "project"), demo(1), nil, nil)
		assert.ErrorIs(t, err, fs.ErrPermission)
		run, err := Open(root, ids[0], nil)
		if !assert.NoError(t, err) {
			return
		}
		_, err = run.Units()
		assert.NoError(t, err)
		assert.ErrorIs(t, run.WriteFile("report.md", nil), fs.ErrPermission)
		_, err = Resume(root, ids[0], nil)
		assert.ErrorIs(t, err, fs.ErrPermission)
		removed, err := Clean(root, 0)
		assert.ErrorIs(t, err, fs.ErrPermission)
		assert.Empty(t, removed)
	})
}

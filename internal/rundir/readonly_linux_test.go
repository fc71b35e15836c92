package rundir

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/disk"
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
	require.NoError(t, os.Chmod(filepath.Join(root, runsDir, ids[0]), 0o755))
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

// TestReadOnlyFiles: what one file or directory refuses is an error, and nothing else changes.
func TestReadOnlyFiles(t *testing.T) {
	for _, name := range []string{ResultsFile, jobsFile} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			openToAll(t, root)
			id := someRuns(t, root, 1)[0]
			run := filepath.Join(root, runsDir, id)
			require.NoError(t, os.Chmod(run, 0o755))
			require.NoError(t, os.Chmod(filepath.Join(root, runsDir, locksDir), 0o777))
			for _, file := range []string{ResultsFile, jobsFile} {
				require.NoError(t, os.Chmod(filepath.Join(run, file), 0o666))
			}
			require.NoError(t, os.Chmod(filepath.Join(run, name), 0o444))
			unprivileged(t, func() {
				_, err := Resume(root, id, nil)
				assert.ErrorIs(t, err, fs.ErrPermission)
				assert.ErrorContains(t, err, name)
			})
			require.NoError(t, os.Chmod(filepath.Join(run, name), 0))
			unprivileged(t, func() {
				opened, err := Open(root, id, nil)
				if !assert.NoError(t, err) {
					return
				}
				if name == ResultsFile {
					_, err = opened.Units()
				} else {
					_, err = opened.Jobs()
				}
				assert.ErrorIs(t, err, fs.ErrPermission)
			})
		})
	}
	for name, modes := range map[string][2]os.FileMode{"locks": {0o777, 0o555}, "runs": {0o555, 0o777}} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			openToAll(t, root)
			id := someRuns(t, root, 1)[0]
			require.NoError(t, os.Chmod(filepath.Join(root, runsDir), modes[0]))
			require.NoError(t, os.Chmod(filepath.Join(root, runsDir, locksDir), modes[1]))
			unprivileged(t, func() {
				removed, err := Clean(root, 0)
				assert.ErrorIs(t, err, fs.ErrPermission)
				assert.Empty(t, removed)
			})
			require.Equal(t, []string{id}, listed(t, root), "it stays where it is")
		})
	}
}

// TestDescriptors: what is opened is closed, without waiting for the garbage collector.
func TestDescriptors(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	open := func() int {
		entries, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(entries)
	}
	root := t.TempDir()
	held := newRun(t, root, demo(1))
	use := func() {
		run, err := Create(root, demo(1), nil, nil)
		require.NoError(t, err)
		require.NoError(t, run.Append(unit("evals/demo/one/b/1")))
		require.NoError(t, run.WriteFile("x", nil))
		require.NoError(t, run.Close())
		run, err = Open(root, held.ID(), nil)
		require.NoError(t, err)
		_, err = run.Units()
		require.NoError(t, err)
		_, err = List(root)
		require.NoError(t, err)
		_, err = Resume(root, held.ID(), nil)
		require.ErrorIs(t, err, disk.ErrLocked)
	}
	use() // the first use may open what stays open
	before := open()
	use()
	require.Equal(t, before, open())
}

// TestProjectRootOfNowhere: a working directory that was removed has no project.
func TestProjectRootOfNowhere(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "gone")
	require.NoError(t, os.Mkdir(dir, 0o755))
	t.Chdir(dir)
	require.NoError(t, os.Remove(dir))
	_, err := ProjectRoot("", t.TempDir(), func(string) string { return "" })
	require.ErrorContains(t, err, "find the project root: ")
}

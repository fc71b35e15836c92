//go:build unix

package rundir

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFIFO: a FIFO in the place of a file of a run is an error, and is not waited for.
func TestFIFO(t *testing.T) {
	const want = "not a regular file"
	for _, name := range []string{manifestFile, playbookFile, ResultsFile, jobsFile} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			run := newRun(t, root, demo(1))
			require.NoError(t, run.Finish(StateInterrupted))
			require.NoError(t, run.Close())
			path := filepath.Join(run.Dir(), name)
			require.NoError(t, os.Remove(path))
			require.NoError(t, syscall.Mkfifo(path, 0o644))
			_, err := Resume(root, run.ID(), nil)
			require.ErrorContains(t, err, want)
			_, err = openJournal(path, nil)
			require.ErrorContains(t, err, "open "+path+": "+want)
			_, err = run.ReadFile(name, 1<<10)
			require.ErrorContains(t, err, want)
			list, err := List(root)
			require.NoError(t, err)
			_, err = list[0].Outcomes()
			if name == manifestFile || name == ResultsFile { // the others are not read for a list
				require.ErrorContains(t, err, want)
			} else {
				require.NoError(t, err)
			}
			switch name {
			case ResultsFile:
				_, err = run.Units()
			case jobsFile:
				_, err = run.Jobs()
			default:
				return
			}
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, want)
		})
	}
	t.Run("lock", func(t *testing.T) {
		root := t.TempDir()
		run := newRun(t, root, demo(1))
		require.NoError(t, run.Close())
		require.NoError(t, syscall.Mkfifo(filepath.Join(root, runsDir, locksDir, run.ID()), 0o644))
		_, err := Open(root, run.ID(), nil)
		require.ErrorContains(t, err, want)
	})
}

// TestLinkedResults: results that are a link are an error, so that nothing is appended to another file.
func TestLinkedResults(t *testing.T) {
	run := newRun(t, t.TempDir(), demo(1))
	path := filepath.Join(run.Dir(), ResultsFile)
	require.NoError(t, os.Rename(path, path+".old"))
	require.NoError(t, os.Symlink(path+".old", path))
	_, err := run.Units()
	require.ErrorContains(t, err, "not a regular file")
}

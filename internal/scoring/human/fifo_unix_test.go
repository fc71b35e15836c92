//go:build unix

package human

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestImportFIFO: a FIFO whose other end nobody opens is refused, not waited for.
func TestImportFIFO(t *testing.T) {
	r := newRun(t, []string{"a", "b"}, []string{"task"}, nil)
	fifo := filepath.Join(t.TempDir(), "scores.json")
	require.NoError(t, syscall.Mkfifo(fifo, 0o644))
	link := fifo + ".link"
	require.NoError(t, os.Symlink(fifo, link))
	for _, file := range []string{fifo, link, filepath.Dir(fifo), os.DevNull} {
		_, err := Import(r, file)
		require.EqualError(t, err, "import scores: open "+file+": not a regular file")
	}
}

package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTooMuchToRead: a file that would take long to read, since it is large or has large holes, is an error that names
// it, and is not read.
func TestTooMuchToRead(t *testing.T) {
	for name, sizes := range map[string][]int64{"one": {8 << 40}, "several": {1 << 20, 8<<30 - 1<<19}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitignore"), []byte("big*\n"), 0o644))
			before, err := Snapshot(t.Context(), dir)
			require.NoError(t, err)
			for i, size := range sizes {
				path := filepath.Join(dir, "big"+string(rune('0'+i)))
				require.NoError(t, os.WriteFile(path, nil, 0o644))
				require.NoError(t, os.Truncate(path, size))
			}
			const want = "more than 8192.0 MiB, which are not compared or copied"
			_, err = Snapshot(t.Context(), dir)
			require.ErrorContains(t, err, "big")
			require.ErrorContains(t, err, want)
			_, _, err = Changes(t.Context(), dir, before, 0, nil)
			require.ErrorContains(t, err, want)
			all := Source{Dir: dir, Include: []string{"**/?*"}}
			_, _, err = Prepare(t.Context(), all, filepath.Join(t.TempDir(), "copy"))
			require.ErrorContains(t, err, want)
		})
	}
}

//go:build unix

package workspace

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSpecialFilesAreLeftOut(t *testing.T) {
	dir := writeTree(t, map[string]string{"a": "1"})
	require.NoError(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644))
	m, err := Snapshot(t.Context(), dir)
	require.NoError(t, err)
	prepared, notes, err := Prepare(t.Context(), Source{Dir: dir}, t.TempDir())
	require.NoError(t, err)
	assert.Equal(t, m, prepared)
	assert.Equal(t, []Note{{"fifo", "not a regular file, directory or symbolic link"}}, notes)
}

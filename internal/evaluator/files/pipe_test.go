//go:build unix

package files_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
)

// Opening a pipe without a writer would block for ever.
func TestPipe(t *testing.T) {
	ws := t.TempDir()
	require.NoError(t, syscall.Mkfifo(filepath.Join(ws, "pipe"), 0o600))
	v := evaluate(t, "expect: [{path: pipe, contains: x}]", ws)
	assert.Equal(t, result.Fail, v.Outcome)
	assert.Equal(t, `✗ pipe contains "x": it is not a regular file`, v.Detail)
}

package secret_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// TestSweepUnreadable: a file that may not be read is an error, and the rest is searched.
func TestSweepUnreadable(t *testing.T) {
	var s secret.Set
	s.Mark("A", "first-secret")
	dir := tree(t, map[string]string{"file": "first-secret"})
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	require.NoError(t, os.Chmod(dir, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "first-secret"), nil, 0))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "closed"), 0))
	done := make(chan struct{})
	go func() { // as somebody to whom permissions apply: only this thread changes, and it ends with the goroutine
		runtime.LockOSThread() // and never unlocks
		defer close(done)
		if os.Geteuid() == 0 && !assert.NoError(t, unix.Setfsuid(65534)) {
			return
		}
		got, err := s.Sweep(t.Context(), dir)
		assert.ErrorIs(t, err, os.ErrPermission)
		assert.ErrorContains(t, err, "closed: ")
		assert.NotContains(t, err.Error(), "first-secret")
		assert.Len(t, got, 2)
	}()
	<-done
}

//go:build unix

package evaltest_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestInterrupt presses Ctrl-C while an agent is at work that never answers: the unit is an error that says so, the
// agent is ended, and nothing is left behind.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	m := newModule(t)
	m.write("scripts/greet.json", `{
		"faults": {"ignore_eof": true, "ignore_sigterm": true},
		"turns": [{"actions": [{"disk_write": {"path": "started", "text": ""}}, {"silence": true}]}]
	}`)
	suite := m.compile("./evals")
	tmp := t.TempDir()
	cmd := exec.Command(suite.bin)
	cmd.Dir = m.path("evals")
	cmd.Env = append(cleanEnviron(), "EVALTEST_MODE=record", "TMPDIR="+tmp)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	require.NoError(t, cmd.Start())
	require.Eventually(t, func() bool {
		started, err := filepath.Glob(filepath.Join(tmp, "*", "workspace", "started"))
		return err == nil && len(started) > 0
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	require.Error(t, cmd.Wait())
	require.Contains(t, out.String(), "interrupt signal received")
	require.Contains(t, out.String(), "greet/hello/fake: ERROR")
	left, err := filepath.Glob(filepath.Join(tmp, "*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

package clitest_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/clitest"
)

// family is a tool that ignores what asks it to end, and so do its child and its grandchild, which has a session of its
// own, no parent of its own and no stream of the tool's. Each writes its process id.
const family = `
trap '' TERM HUP INT
( setsid sh -c 'trap "" TERM HUP INT; echo $$ >>pids; while :; do sleep 60; done' </dev/null >/dev/null 2>&1 & )
sh -c 'echo $$ >>pids; while :; do sleep 60; done' &
echo $$ >>pids
while [ "$(wc -l <pids)" -lt 3 ]; do sleep 0.01; done
echo "all are there"
`

// TestNothingSurvives: a tool that hangs is reported within its timeout, and nothing survives it, nor one that ends.
func TestNothingSurvives(t *testing.T) {
	tests := []struct {
		name, script string
		timeout      time.Duration
		timedOut     bool
	}{
		{name: "hangs", script: family + "while :; do sleep 60; done", timeout: 5 * time.Second, timedOut: true},
		{name: "ends", script: family + "exit 3", timeout: time.Minute},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd := clitest.Command(t, "sh", "-c", tt.script)
			cmd.Dir, cmd.Timeout, cmd.ExitCode = t.TempDir(), tt.timeout, clitest.AnyEnd
			r := cmd.Run()
			assert.Equal(t, tt.timedOut, r.TimedOut)
			if tt.timedOut {
				assert.Equal(t, "SIGKILL", r.Signal)
			} else {
				assert.Equal(t, 3, r.ExitCode)
			}
			require.Equal(t, "all are there\n", r.Stdout)
			pids, err := os.ReadFile(filepath.Join(cmd.Dir, "pids"))
			require.NoError(t, err)
			require.Len(t, strings.Fields(string(pids)), 3)
			for field := range strings.FieldsSeq(string(pids)) {
				pid, err := strconv.Atoi(field)
				require.NoError(t, err)
				require.ErrorIs(t, syscall.Kill(pid, 0), syscall.ESRCH, "process %d lives", pid)
			}
		})
	}
}

// TestNoTerminal checks that a tool that waits for input gets the end of file at once, even if the test itself has
// input.
func TestNoTerminal(t *testing.T) {
	r, w, err := os.Pipe() // which nobody writes to
	require.NoError(t, err)
	defer w.Close()
	defer func(stdin *os.File) { os.Stdin = stdin }(os.Stdin)
	os.Stdin = r
	cmd := clitest.Command(t, "sh", "-c", `
		read answer || echo "no answer"
		(read answer </dev/tty) 2>/dev/null || echo "no terminal"`)
	require.Equal(t, "no answer\nno terminal\n", cmd.Run().Stdout)
}

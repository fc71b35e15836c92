package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestInterruptedSweep holds that the first Ctrl-C, or SIGTERM, also ends the search of what an agent left: here that
// is many names of one large file. What was not searched is not kept.
func TestInterruptedSweep(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			dir := project(t, interruptedPlaybook)
			const line = `head -c 100000000 /dev/zero >l0; i=0; while [ $i -lt 500 ]; do i=$((i+1)); ln l0 l$i; done`
			c, rest := startUnit(t, dir, fmt.Sprintf(`{"turns": [{"actions": [
				{"disk_write": {"path": "begun", "text": ""}},
				{"exec": {"command": "sh", "args": ["-c", %q]}}]}]}`, line))
			require.Eventually(t, func() bool { return opens(c.Process.Pid, "/workspace/l") }, time.Minute,
				time.Millisecond, "the search")
			begin := time.Now()
			require.NoError(t, c.Process.Signal(signal))
			text := <-rest
			_ = c.Wait()
			require.Equal(t, 130, c.ProcessState.ExitCode(), text)
			// On a busy machine: else it is less than one, and the search would take a minute or more.
			assert.Less(t, time.Since(begin), 30*time.Second)
			run := runs(t, dir)[0]
			kept, err := os.ReadDir(filepath.Join(run, "variants", "a", "workspace"))
			require.NoError(t, err)
			require.Empty(t, kept)
			require.Contains(t, text, "\nnext: sdd-eval run --resume "+filepath.Base(run)+"\n")
		})
	}
}

// opens reports whether a process has a file open whose path has a part.
func opens(pid int, part string) bool {
	all, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range all {
		if path, err := os.Readlink(fd); err == nil && strings.Contains(path, part) {
			return true
		}
	}
	return false
}

// TestSparse holds that a file that is nearly all hole keeps nobody waiting, and that a secret in it is masked.
func TestSparse(t *testing.T) {
	t.Parallel()
	l := newLeaky(t)
	l.write("claude-code.toml", "[groups.mine]\nSERVICE_TOKEN = \"a-value-that-nobody-may-see\"\n", 0o600)
	l.write("agent", "#!/bin/sh\nexec fake-acp \"$@\"\n", 0o755)
	l.write("script.json", `{"turns": [{"actions": [{"exec": {"command": "sh", "args": ["-c",
		"printf %s $SERVICE_TOKEN | dd of=big bs=1M seek=5000000 2>/dev/null; truncate -s 12T big"]}}]}]}`, 0o644)
	text := strings.NewReplacer("VARIANT", "a", "COMMAND", filepath.Join(l.outside, "agent"), "SCRIPT",
		filepath.Join(l.outside, "script.json"), "STEPS\n", "").Replace(leakyPlaybook)
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "p.yaml"), []byte(text), 0o644))
	said, code := l.run("run", "--playbook", "p.yaml", "--sandbox", "none")
	require.Equal(t, 3, code, said)
	require.Contains(t, said, "leak: ")
	require.Contains(t, said, "big: SERVICE_TOKEN at offset 5242880000000")
	info, err := os.Stat(filepath.Join(runs(t, l.dir)[0], "variants", "a", "workspace", "big"))
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(11<<40), "the rest is there")
}

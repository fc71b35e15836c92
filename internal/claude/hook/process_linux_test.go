package hook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/capture"
	"github.com/sdd-eval/sdd-eval/internal/claude"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

// variableWriter makes the test binary a writer of so many lines; variableLimit limits the size of its files.
const (
	variableWriter = "HOOK_TEST_LINES"
	variableLimit  = "HOOK_TEST_LIMIT"
)

func TestMain(m *testing.M) {
	if n, err := strconv.Atoi(os.Getenv(variableWriter)); err == nil {
		os.Exit(writer(n))
	}
	os.Exit(m.Run())
}

// writer runs that many hooks.
func writer(n int) int {
	if limit, err := strconv.ParseUint(os.Getenv(variableLimit), 10, 64); err == nil {
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: limit}); err != nil {
			return 1
		}
	}
	for i := range n {
		input := map[string]any{"file_path": "a", "content": strings.Repeat(fmt.Sprintf("%7d ", os.Getpid()), 2500)}
		p, err := json.Marshal(map[string]any{
			"tool_name": "Write", "tool_use_id": fmt.Sprintf("%d-%d", os.Getpid(), i), "tool_input": input,
		})
		if err != nil {
			return 1
		}
		h := Hook{
			Phase: claude.Pre, Stdin: bytes.NewReader(p), Stdout: os.Stdout, Stderr: os.Stderr, Getenv: os.Getenv,
			Dir: "/", Now: time.Now,
		}
		if h.Run() != 0 {
			return 1
		}
	}
	return 0
}

func startWriter(t *testing.T, file string, n int, environ ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), append(environ, VariableCapture+"="+file, variableWriter+"="+strconv.Itoa(n))...)
	c.Stderr = new(bytes.Buffer)
	require.NoError(t, c.Start())
	return c
}

// TestSoakProcesses holds that lines of several processes are neither torn nor lost.
func TestSoakProcesses(t *testing.T) {
	t.Parallel()
	processes, each := 8, soak.Size(20, 1000)
	file := filepath.Join(t.TempDir(), "c")
	var writers []*exec.Cmd
	for range processes {
		writers = append(writers, startWriter(t, file, each))
	}
	for _, w := range writers {
		require.NoError(t, w.Wait(), "%s", w.Stderr)
		require.Empty(t, w.Stderr.(*bytes.Buffer).String())
	}
	c, err := capture.Read(file)
	require.NoError(t, err)
	require.Empty(t, c.Notes)
	require.Len(t, c.Calls, processes*each)
	seen := make(map[string]bool)
	for _, call := range c.Calls {
		seen[call.ID] = true
		pid, _, _ := strings.Cut(call.ID, "-")
		content := call.Input.(map[string]any)["content"].(string)
		require.Equal(t, 2500, strings.Count(content, pid+" "), "a line is of one process")
	}
	require.Len(t, seen, processes*each)
}

// TestDiskFull holds that a line that does not fit, as on a full disk, is removed again.
func TestDiskFull(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c")
	w := startWriter(t, file, 3, variableLimit+"=50000") // two lines and a half
	require.NoError(t, w.Wait(), "%s", w.Stderr)
	c, err := capture.Read(file)
	require.ErrorContains(t, err, "pre: capture a call of Write: write "+file+": file too large")
	require.Len(t, c.Calls, 2)
	require.Empty(t, c.Notes, "no part of a line is left")
}

// TestSoakKilledWriters holds that whatever writers were killed at, the lines of others are whole.
func TestSoakKilledWriters(t *testing.T) {
	file := filepath.Join(t.TempDir(), "c")
	for range soak.Size(5, 200) {
		w := startWriter(t, file, 1<<20)
		require.Eventually(t, func() bool { info, err := os.Stat(file); return err == nil && info.Size() > 0 },
			time.Minute, time.Millisecond)
		require.NoError(t, w.Process.Kill())
		require.Error(t, w.Wait())
	}
	require.NoError(t, startWriter(t, file, 1).Wait())
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.True(t, bytes.HasSuffix(data, []byte("}\n")), "the last line is whole")
}

// TestLockedFile holds that a hook does not wait for ever for another one that was stopped.
func TestLockedFile(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "c")
		f, err := os.Create(file)
		require.NoError(t, err)
		defer f.Close()
		require.True(t, lock(f))
		began := time.Now()
		require.Equal(t, ran{}, run(t, claude.Pre, Policy{}, payloadOf(t, claude.Pre), VariableCapture+"="+file))
		require.Equal(t, maxLockWait+100*time.Microsecond, time.Since(began))
		require.Len(t, lines(t, file), 1)
	})
}

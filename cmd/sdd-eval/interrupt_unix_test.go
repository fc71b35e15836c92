//go:build unix

package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// startUnit starts a run whose agent follows the script, and returns when the agent has made its first call. When the
// run has ended, the channel has the rest of its stderr.
func startUnit(t *testing.T, dir, script string) (*exec.Cmd, <-chan string) {
	t.Helper()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agent.json"), []byte(script), 0o644))
	c, temporary := command(dir, "run", "--playbook", "p.yaml"), t.TempDir()
	c.Env = append(c.Environ(), "TMPDIR="+temporary)
	stderr, err := c.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, c.Start())
	t.Cleanup(func() { c.Process.Kill() })
	lines := bufio.NewScanner(stderr)
	for lines.Scan() && !strings.Contains(lines.Text(), "start interrupted/task/a/1") {
	}
	session := filepath.Join(temporary, "*", "workspace", "begun")
	require.Eventually(t, func() bool {
		found, err := filepath.Glob(session)
		return err == nil && len(found) == 1
	}, time.Minute, 10*time.Millisecond, "the agent's first call")
	rest := make(chan string, 1)
	go func() {
		var text strings.Builder
		for lines.Scan() {
			text.WriteString(lines.Text() + "\n")
		}
		rest <- text.String()
	}()
	return c, rest
}

const interruptedPlaybook = `name: interrupted
task: {prompt: Do it.}
variants: {a: {agent: {kind: fake-acp, args: [agent.json]}}}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [a]}}
      steps: [{uses: builtin:sdd-eval/acp.prompt}]
`

// TestInterrupted holds that the first Ctrl-C, or SIGTERM, ends a run in order, even if a wrapper such as npx passes it
// on besides: the run can be resumed, and the command says how and exits 130.
func TestInterrupted(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			dir := project(t, interruptedPlaybook)
			c, rest := startUnit(t, dir,
				`{"turns": [{"actions": [{"disk_write": {"path": "begun", "text": ""}}, {"sleep": "1h"}]}]}`)
			require.NoError(t, c.Process.Signal(signal))
			time.Sleep(10 * time.Millisecond) // else it is one signal
			require.NoError(t, c.Process.Signal(signal))
			text := <-rest
			var exit *exec.ExitError
			require.ErrorAs(t, c.Wait(), &exit)
			require.Equal(t, 130, exit.ExitCode(), text)
			run := runs(t, dir)[0]
			require.Contains(t, text, "\nnext: sdd-eval run --resume "+filepath.Base(run)+"\n")
			manifest, err := os.ReadFile(filepath.Join(run, "manifest.json"))
			require.NoError(t, err)
			require.Contains(t, string(manifest), `"state": "interrupted"`)
			require.Empty(t, unitsOf(t, run), "an interrupted unit has no result")
		})
	}
}

// TestInterruptedTwice holds that the second Ctrl-C ends the command at once.
func TestInterruptedTwice(t *testing.T) {
	t.Parallel()
	dir := project(t, interruptedPlaybook)
	c, rest := startUnit(t, dir, `{"faults": {"ignore_eof": true, "ignore_sigterm": true},
		"turns": [{"actions": [{"disk_write": {"path": "begun", "text": ""}}, {"silence": true}]}]}`)
	for ended := false; !ended; {
		err := c.Process.Signal(syscall.SIGINT)
		require.True(t, err == nil || errors.Is(err, os.ErrProcessDone), err)
		select {
		case <-rest:
			ended = true
		case <-time.After(300 * time.Millisecond):
		}
	}
	var exit *exec.ExitError
	require.ErrorAs(t, c.Wait(), &exit)
	require.Equal(t, syscall.SIGINT, exit.Sys().(syscall.WaitStatus).Signal())
	require.Empty(t, unitsOf(t, runs(t, dir)[0]))
}

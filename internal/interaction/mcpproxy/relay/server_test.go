//go:build unix

package relay

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const answer = `echo '{"jsonrpc": "2.0", "id": 1, "result": {}}'; `

func TestServer(t *testing.T) {
	const held = `{ while [ -d "$PWD" ]; do sleep 0.1; done; } & ` // to the end of the test
	for _, test := range []struct {
		name, script string
		closed       bool // the agent closes the server's input
		signal       os.Signal
		code         int
		failure      string
	}{
		{name: "ends", script: "exit 3", code: 3, failure: "ended before it answered: exit status 3"},
		{name: "ends without an error", script: "exit 0", failure: "ended before it answered: exit status 0"},
		{
			name: "says why", script: "echo no >&2; echo base >&2; exit 3", code: 3,
			failure: "ended before it answered: exit status 3: no\nbase",
		},
		{name: "is killed", script: "kill -KILL $$", code: 137, failure: "ended before it answered: signal: killed"},
		{name: "answers", script: answer + "exit 3", code: 3},
		{name: "answers at length", script: "head -c 1100000 /dev/zero; exit 3", code: 3},
		{
			name: "prints its configuration", script: "echo '{\"result\": 1}'; exit 3", code: 3,
			failure: "ended before it answered: exit status 3",
		},
		{
			name: "answers with an error", code: 3, failure: "ended before it answered: exit status 3",
			script: `echo '{"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "no"}}'; exit 3`,
		},
		{name: "is told by its input", script: "cat; exit 3", closed: true, code: 3},
		{name: "is told by a signal", script: "exec cat", signal: syscall.SIGTERM, code: 143},
		{name: "is told by a signal to all", script: "kill -TERM $$", code: 143},
		{
			name: "ends, its output is held", script: held + "echo no base >&2; exit 3", code: 3,
			failure: "ended before it answered: exit status 3: no base",
		},
		{name: "is told, its output is held", script: held + "cat", closed: true},
		{name: "is told by a signal, its output is held", script: held + "exec cat", signal: syscall.SIGINT, code: 130},
		{
			name: "long lines", code: 3, failure: "ended before it answered: exit status 3: last",
			script: "printf '%03000d\\nlast\\n' 7 >&2; exit 3",
		},
		{
			name: "one long line", code: 3, failure: "ended before it answered: exit status 3",
			script: "printf '%03000d' 7 >&2; exit 3",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			s, signals, file := newServer(t)
			if strings.HasPrefix(test.script, held) {
				s.held = heldTime
			}
			if test.closed {
				s.stdin = strings.NewReader("")
			}
			if test.signal != nil {
				signals <- test.signal
			}
			cmd := exec.Command("sh", "-c", test.script)
			cmd.Dir = t.TempDir()
			code, err := s.run(cmd)
			require.NoError(t, err)
			require.Equal(t, test.code, code)
			failure, err := os.ReadFile(file)
			if test.failure == "" {
				require.ErrorIs(t, err, os.ErrNotExist)
				return
			}
			require.NoError(t, err)
			require.Equal(t, test.failure, string(failure))
		})
	}
}

func TestServerCannotBeStarted(t *testing.T) {
	s, _, file := newServer(t)
	code, err := s.run(exec.Command(filepath.Join(t.TempDir(), "none")))
	require.Error(t, err)
	require.Equal(t, 1, code)
	failure, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(failure), "cannot be started: ")
}

// What is left of a server that has ended may be what serves, to the end.
func TestServerLeavesAnother(t *testing.T) {
	s, _, file := newServer(t)
	in, agent := io.Pipe()
	s.stdin, s.held = in, 0
	var served atomic.Bool
	s.stdout = passed{io.Discard, func(p []byte) {
		if strings.Contains(string(p), "left") {
			served.Store(true)
			agent.Close()
		}
	}}
	code, err := s.run(exec.Command("sh", "-c", "exec 3<&0; "+
		"{ while kill -0 $$; do sleep 0.01; done; "+answer+"echo left; cat <&3; } & exit 0")) // $$ is waited for
	require.NoError(t, err)
	require.Zero(t, code)
	require.True(t, served.Load())
	require.NoFileExists(t, file)
	require.FileExists(t, Answered(file))
}

// newServer returns a server whose input does not end before the test.
func newServer(t *testing.T) (s *server, signals chan<- os.Signal, file string) {
	in, agent := io.Pipe()
	t.Cleanup(func() { agent.Close() })
	all := make(chan os.Signal, 1)
	t.Cleanup(func() { close(all) })
	file = filepath.Join(t.TempDir(), "server")
	return &server{
		file: file, stdin: in, stdout: io.Discard, stderr: io.Discard, signals: all, held: time.Minute,
	}, all, file
}

package scripted_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp/scripted"
)

// agentName is the name under which the test binary is an agent.
const agentName = "fake-acp"

func init() {
	if os.Args[0] == agentName {
		os.Exit(scripted.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
	}
}

// command returns the test binary as an agent process that plays s. It does not outlive the test.
func command(t testing.TB, s scripted.Script) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	data, err := json.Marshal(s)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "script.json")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self)
	cmd.Args = []string{agentName, file}
	cmd.WaitDelay = time.Second
	return cmd
}

func TestMainCodes(t *testing.T) {
	bad := filepath.Join(t.TempDir(), "bad.json")
	require.NoError(t, os.WriteFile(bad, []byte(`{"turn": []}`), 0o600))
	exits := filepath.Join(t.TempDir(), "exits.json")
	require.NoError(t, os.WriteFile(exits, []byte(`{"faults": {"exit": 9}}`), 0o600))
	tests := []struct {
		name   string
		args   []string
		in     io.Reader
		want   int
		stderr string
	}{
		{name: "built-in script", want: 0},
		{name: "the script's own code", args: []string{exits}, want: 9},
		{name: "bad script", args: []string{bad}, want: 2, stderr: bad + ":1:2: turn: unknown key; known keys: auth, "},
		{name: "missing script", args: []string{bad + "x"}, want: 2, stderr: "fake-acp: read script: open "},
		{name: "two scripts", args: []string{bad, bad}, want: 2, stderr: "fake-acp: want at most one argument"},
		{name: "input that fails", in: brokenReader{}, want: 1, stderr: "fake-acp: scripted: read from the client: "},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			in := tt.in
			if in == nil {
				in = strings.NewReader("")
			}
			assert.Equal(t, tt.want, scripted.Main(tt.args, in, io.Discard, &stderr))
			assert.Contains(t, stderr.String(), tt.stderr)
		})
	}
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, assert.AnError }

func TestProcessExitsWithTheScriptsCode(t *testing.T) {
	cmd := command(t, scripted.Script{Faults: scripted.Faults{Exit: new(41)}})
	err := cmd.Run()
	var exit *exec.ExitError
	require.ErrorAs(t, err, &exit)
	assert.Equal(t, 41, exit.ExitCode())
}

func TestProcessThatIgnoresEOFAndSIGTERM(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no signals here")
	}
	for _, stubborn := range []bool{false, true} {
		s := scripted.Script{Faults: scripted.Faults{IgnoreEOF: true, IgnoreSIGTERM: stubborn}}
		cmd := command(t, s)
		stdin, err := cmd.StdinPipe()
		require.NoError(t, err)
		stdout, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		_, err = io.WriteString(stdin, initialize)
		require.NoError(t, err)
		_, err = io.ReadFull(stdout, make([]byte, 1)) // it plays its script by now
		require.NoError(t, err)
		require.NoError(t, stdin.Close())
		require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
		want := syscall.SIGTERM
		if stubborn {
			// Only waiting can show that it lives on; a process that does not ignore the signal is gone by then.
			time.AfterFunc(100*time.Millisecond, func() { _ = cmd.Process.Kill() })
			want = syscall.SIGKILL
		}
		_, _ = io.Copy(io.Discard, stdout)
		_ = cmd.Wait()
		assert.Equal(t, want, cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
	}
}

package program_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/helper"
)

// TestMisuse checks what the helper says when it is not started by package helper.
func TestMisuse(t *testing.T) {
	h, err := helper.Find()
	require.NoError(t, err)
	const people = "sdd-eval-helper: this program is started by tests that use sdd-eval, not by people\n"
	tests := []struct {
		name, argv0, want string
		args              []string
		code              int
	}{
		{name: "no-arguments", code: 2, want: people},
		{name: "help", args: []string{"--help"}, code: 2, want: people},
		{name: "no-program", args: []string{helper.Key()}, code: 2, want: people},
		{
			name: "unknown", args: []string{helper.Key(), "relay"}, code: 2,
			want: "sdd-eval-helper: unknown program \"relay\"\n",
		},
		{
			name: "another-version", args: []string{"0123456789abcdef", helper.Check}, code: 3,
			want: "sdd-eval-helper: the helper has version " + helper.Key() + "; want version 0123456789abcdef\n",
		},
		{
			name: "relay", args: []string{helper.Key(), helper.Relay}, code: 2,
			want: "sdd-eval: relay to an MCP server: want the path of a socket\n",
		},
		{
			name: "mcp-server", args: []string{helper.Key(), helper.Server, "file"}, code: 2,
			want: "sdd-eval: an MCP server: want a file and a command\n",
		},
		{
			name: "go-cache", args: []string{helper.Key(), helper.GoCache, "/"}, code: 1,
			want: "sdd-eval: go build cache: want the directory to write and at least one to read\n",
		},
		{
			name: "agent-by-its-name", argv0: "/bin/fake-acp", args: []string{"/no/script"}, code: 2,
			want: "fake-acp: read script: open /no/script: no such file or directory\n",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			argv0 := tt.argv0
			if argv0 == "" {
				argv0 = filepath.Base(h.Path)
			}
			cmd := exec.Cmd{Path: h.Path, Args: append([]string{argv0}, tt.args...), Stdout: &stdout, Stderr: &stderr}
			require.Error(t, cmd.Run())
			assert.Equal(t, tt.code, cmd.ProcessState.ExitCode())
			assert.Equal(t, tt.want, stderr.String())
			assert.Empty(t, stdout.String())
		})
	}
}

//go:build unix

package localtools_test

import (
	"io/fs"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/acp"
	"github.com/sdd-eval/sdd-eval/internal/localtools"
)

func TestFileHandler(t *testing.T) {
	s := newScene(t)
	h := s.files.Handler()
	line, limit := 2, 1
	read, err := h.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: s.ws + "/a.txt", Line: &line, Limit: &limit})
	require.NoError(t, err)
	assert.Equal(t, "two\r\n", read.Content)

	_, err = h.WriteTextFile(t.Context(), acp.WriteTextFileRequest{Path: s.ws + "/new/file", Content: "text"})
	require.NoError(t, err)
	read, err = h.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: s.ws + "/new/file"})
	require.NoError(t, err)
	assert.Equal(t, "text", read.Content)

	_, err = h.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: s.ws + "/nothing"})
	require.ErrorIs(t, err, fs.ErrNotExist, "package acp makes it a protocol error")
	_, err = h.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: s.base + "/secret"})
	requireCode(t, acp.CodeInvalidParams, err)
	_, err = h.WriteTextFile(t.Context(), acp.WriteTextFileRequest{Path: s.base + "/secret", Content: "text"})
	requireCode(t, acp.CodeInvalidParams, err)
	negative := -1
	_, err = h.ReadTextFile(t.Context(), acp.ReadTextFileRequest{Path: s.ws + "/a.txt", Line: &negative})
	requireCode(t, acp.CodeInvalidParams, err)
	s.outsideIsUntouched(t)
}

func TestTerminalHandler(t *testing.T) {
	s := newScene(t)
	h := s.configured(t,
		localtools.TerminalConfig{Env: []string{"PATH=" + systemPath}, Allow: []string{"sh", "gone"}}).Handler()
	limit := int64(4)
	created, err := h.Create(t.Context(), acp.CreateTerminalRequest{
		Command: `printf 'a long %s' "$WORD"; exit 3`, Env: []acp.EnvVariable{{Name: "WORD", Value: "word"}},
		Cwd:             s.ws + "/sub",
		OutputByteLimit: &limit,
	})
	require.NoError(t, err)
	exit, err := h.WaitForExit(t.Context(), acp.WaitForTerminalExitRequest{TerminalID: created.TerminalID})
	require.NoError(t, err)
	code := 3
	assert.Equal(t, acp.WaitForTerminalExitResponse{ExitCode: &code}, exit)
	out, err := h.Output(t.Context(), acp.TerminalOutputRequest{TerminalID: created.TerminalID})
	require.NoError(t, err)
	assert.Equal(t, acp.TerminalOutputResponse{
		Output: "word", Truncated: true, ExitStatus: &acp.TerminalExitStatus{ExitCode: &code},
	}, out)
	_, err = h.Release(t.Context(), acp.ReleaseTerminalRequest{TerminalID: created.TerminalID})
	require.NoError(t, err)
	_, err = h.Output(t.Context(), acp.TerminalOutputRequest{TerminalID: created.TerminalID})
	requireCode(t, acp.CodeResourceNotFound, err)

	created, err = h.Create(t.Context(), acp.CreateTerminalRequest{Command: "sleep 60"})
	require.NoError(t, err)
	out, err = h.Output(t.Context(), acp.TerminalOutputRequest{TerminalID: created.TerminalID})
	require.NoError(t, err)
	assert.Nil(t, out.ExitStatus)
	_, err = h.Kill(t.Context(), acp.KillTerminalRequest{TerminalID: created.TerminalID})
	require.NoError(t, err)
	exit, err = h.WaitForExit(t.Context(), acp.WaitForTerminalExitRequest{TerminalID: created.TerminalID})
	require.NoError(t, err)
	assert.Equal(t, acp.WaitForTerminalExitResponse{Signal: "SIGTERM"}, exit)

	_, err = h.Create(t.Context(), acp.CreateTerminalRequest{Command: "sed", Args: []string{"p"}})
	requireCode(t, acp.CodeInvalidParams, err)
	_, err = h.Create(t.Context(), acp.CreateTerminalRequest{Command: "gone", Args: []string{"x"}})
	requireCode(t, acp.CodeInvalidParams, err)
}

func requireCode(t *testing.T, code int, err error) {
	t.Helper()
	var e *acp.Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, code, e.Code, e.Message)
}

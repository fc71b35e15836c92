package mcpproxy_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestPipes: what an agent puts in the place of a relay's pipes is not opened, and the next relay is served.
func TestPipes(t *testing.T) {
	s := newScene(t, nil, server("shop", "shop"))
	socket := s.socket(0)
	dir := filepath.Dir(socket)
	calls, err := os.OpenFile(socket+".calls", os.O_WRONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer calls.Close()
	outside := filepath.Join(t.TempDir(), "outside")
	require.NoError(t, unix.Mkfifo(outside, 0o600))
	reader, err := os.OpenFile(outside, os.O_RDONLY|unix.O_NONBLOCK, 0)
	require.NoError(t, err)
	defer reader.Close()
	pipe := func(name string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, unix.Mkfifo(path, 0o600))
		return path
	}
	pipe("0000000001.to") // a link to a pipe of somebody else's
	require.NoError(t, os.Symlink(outside, filepath.Join(dir, "0000000001.from")))
	pipe("0000000002.to") // no pipe
	require.NoError(t, os.WriteFile(filepath.Join(dir, "0000000002.from"), nil, 0o600))
	for _, call := range []string{"../outside", "0000000001", "0000000002", "0000000003", "-000000004"} {
		_, err = calls.WriteString(call)
		require.NoError(t, err)
	}
	to, from := pipe("0000000005.to"), pipe("0000000005.from")
	out, err := os.OpenFile(to, os.O_RDWR, 0)
	require.NoError(t, err)
	defer out.Close()
	_, err = io.WriteString(out, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"n","version":"1"}}}`+"\n")
	require.NoError(t, err)
	_, err = calls.WriteString("0000000005")
	require.NoError(t, err)
	in, err := os.OpenFile(from, os.O_RDONLY, 0)
	require.NoError(t, err)
	defer in.Close()
	require.NoError(t, in.SetReadDeadline(time.Now().Add(waitTime)))
	answer, err := bufio.NewReader(in).ReadString('\n')
	require.NoError(t, err)
	assert.Contains(t, answer, `"serverInfo"`)
	_, err = reader.Read(make([]byte, 1))
	assert.ErrorIs(t, err, io.EOF, "somebody has it open")
	require.NoError(t, s.proxy.Close())
	_, err = net.Dial("unix", socket)
	assert.Error(t, err)
	_, errs := s.seen()
	assert.Empty(t, errs)
}

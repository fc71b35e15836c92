package mcpproxy_test

import (
	"bufio"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// TestListenWithoutPipes: where something stands in the place of a pipe, nothing listens, and nothing stays open.
func TestListenWithoutPipes(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "0.sock.calls"), nil, 0o600))
	before := descriptors(t)
	_, err := mcpproxy.Listen(mcpproxy.Config{Dir: dir, Servers: []plan.MCPServer{server("shop", "shop")}})
	require.ErrorIs(t, err, os.ErrExist)
	assert.ErrorContains(t, err, `proxy the MCP server "shop": make a pipe `+dir)
	assert.Equal(t, before, descriptors(t))
}

// TestDescriptors: a proxy, and what comes to it in the place of a relay, leave no descriptor open.
func TestDescriptors(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1)) // which would close what nobody has
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	use := func(name string) {
		dir := filepath.Join(long, name)
		p, err := mcpproxy.Listen(mcpproxy.Config{
			Dir: dir, Servers: []plan.MCPServer{server("shop", "shop")}, Replay: &mcpproxy.Replay{},
		})
		require.NoError(t, err)
		for _, pipe := range []string{"0000000001.to", "0000000003.to", "0000000003.from"} {
			require.NoError(t, unix.Mkfifo(filepath.Join(dir, pipe), 0o600))
		}
		for _, file := range []string{"0000000001.from", "0000000002.to"} { // no pipes
			require.NoError(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
		}
		out, err := os.OpenFile(filepath.Join(dir, "0000000003.to"), os.O_RDWR, 0)
		require.NoError(t, err)
		calls, err := os.OpenFile(filepath.Join(dir, "0.sock.calls"), os.O_WRONLY|unix.O_NONBLOCK, 0)
		require.NoError(t, err)
		_, err = calls.WriteString("000000000100000000020000000003")
		require.NoError(t, err)
		in, err := os.OpenFile(filepath.Join(dir, "0000000003.from"), os.O_RDONLY, 0) // once the proxy has it
		require.NoError(t, err)
		for _, f := range []*os.File{out, calls, in} {
			require.NoError(t, f.Close())
		}
		require.NoError(t, p.Close())
	}
	use("first") // opens what stays open
	before := descriptors(t)
	use("second")
	assert.Equal(t, before, descriptors(t))
}

// descriptors counts those that this process has open.
func descriptors(t *testing.T) int {
	t.Helper()
	all, err := os.ReadDir("/proc/self/fd")
	require.NoError(t, err)
	return len(all)
}

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

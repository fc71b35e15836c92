package mcpproxy

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"syscall"
)

// relayWord is the first argument that makes our binary a relay; the second is the socket's path.
const relayWord = "sdd-eval-mcp-relay"

// init makes this process a relay if that is what it was started as. It looks at nothing but argv, so that it costs other
// processes nothing and go test's cache learns of no environment variable. It ends by the bare system call: what a binary
// does at its exit (a race or coverage report, say) is not for the relay.
func init() {
	if len(os.Args) == 3 && os.Args[1] == relayWord {
		if err := relay(os.Args[2], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "sdd-eval: relay to an MCP server: %v\n", err)
			syscall.Exit(1)
		}
		syscall.Exit(0)
	}
}

// relay copies between the socket and the streams until the socket's other end closes it, which it does soon after the end
// of in.
func relay(socket string, in io.Reader, out io.Writer) error {
	// The path from here may be longer than the system lets a socket's path be.
	if err := os.Chdir(filepath.Dir(socket)); err != nil {
		return err
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: filepath.Base(socket), Net: "unix"})
	if err != nil {
		return err
	}
	defer conn.Close()
	go func() {
		_, _ = io.Copy(conn, in) // whatever ended it: no more will come
		_ = conn.CloseWrite()
	}()
	_, err = io.Copy(out, conn)
	return err
}

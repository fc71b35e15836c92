package mcpproxy

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"

	"github.com/sdd-eval/sdd-eval/internal/reexec"
)

// relayWord makes our binary a relay, see [reexec.Register]; what follows is the socket's path.
const relayWord = "sdd-eval-mcp-relay"

func init() {
	reexec.Register(relayWord, 1, func(args []string) int {
		if err := relay(args[0], os.Stdin, os.Stdout); err != nil {
			fmt.Fprintf(os.Stderr, "sdd-eval: relay to an MCP server: %v\n", err)
			return 1
		}
		return 0
	})
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

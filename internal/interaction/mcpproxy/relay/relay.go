// Package relay is the program that an agent starts in place of an MCP server: it connects the agent to a socket of
// package mcpproxy. On Unix it does without package net, which every build of the helper would have to compile.
package relay

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Main is the program [helper.Relay]: it copies between its streams and the socket that the argument names.
func Main(args []string) int {
	if len(args) != 1 {
		fmt.Fprintln(os.Stderr, "sdd-eval: relay to an MCP server: want the path of a socket")
		return 2
	}
	if err := relay(args[0], os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "sdd-eval: relay to an MCP server: %v\n", err)
		return 1
	}
	return 0
}

// connection is a connected socket.
type connection interface {
	io.ReadWriteCloser
	// CloseWrite says that no more will be written.
	CloseWrite() error
}

// relay copies between the socket and the streams until the socket's other end closes it, which happens soon after the
// end of in.
func relay(socket string, in io.Reader, out io.Writer) error {
	// The path from here may be longer than the system lets a socket's path be.
	if err := os.Chdir(filepath.Dir(socket)); err != nil {
		return err
	}
	conn, err := dial(filepath.Base(socket))
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

//go:build unix

package relay

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// duplex is a connection of two pipes.
type duplex struct{ in, out *os.File }

func (d duplex) Read(b []byte) (int, error)  { return d.in.Read(b) }
func (d duplex) Write(b []byte) (int, error) { return d.out.Write(b) }
func (d duplex) CloseWrite() error           { return d.out.Close() }

func (d duplex) Close() error {
	_ = d.out.Close()
	return d.in.Close()
}

// call connects by pipes to a socket in the working directory.
func call(socket string) (connection, error) {
	calls, err := os.OpenFile(Calls(socket), os.O_WRONLY|unix.O_NONBLOCK, 0) // fails if nobody listens
	if err != nil {
		return nil, err
	}
	defer calls.Close()
	name := fmt.Sprintf("%0*d", CallSize, os.Getpid())
	to, from, _ := Pipes(name)
	for _, pipe := range []string{to, from} {
		_ = os.Remove(pipe) // of a process that had the same number
		if err := unix.Mkfifo(pipe, 0o600); err != nil {
			return nil, &os.PathError{Op: "make a pipe", Path: pipe, Err: err}
		}
		defer os.Remove(pipe)
	}
	// For both, so that this does not wait for a reader, and the reader finds a writer.
	out, err := os.OpenFile(to, os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	if _, err := calls.WriteString(name); err != nil {
		return nil, err
	}
	in, err := os.OpenFile(from, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	return duplex{in, out}, nil
}

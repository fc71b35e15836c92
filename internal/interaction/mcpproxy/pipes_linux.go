package mcpproxy

import (
	"io"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"github.com/sdd-eval/sdd-eval/internal/interaction/mcpproxy/relay"
)

// pipes is the way in for relays that may have no unix socket: see [relay.Calls]. Everything in the directory is the
// agent's to change, so the directory and the pipe for calls stay open, and what is opened in it has to be a pipe.
type pipes struct {
	dir   int
	calls *os.File
}

func listenPipes(path string) (*pipes, error) {
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	p := &pipes{dir: dir}
	name := filepath.Base(relay.Calls(path))
	if err = unix.Mkfifoat(dir, name, 0o600); err == nil {
		p.calls, err = p.open(name, unix.O_RDWR) // a pipe that never has an end
	}
	if err != nil {
		_ = unix.Close(dir)
		return nil, &os.PathError{Op: "make a pipe", Path: relay.Calls(path), Err: err}
	}
	return p, nil
}

// open opens a pipe in the directory, without waiting for its other end.
func (p *pipes) open(name string, flags int) (*os.File, error) {
	fd, err := unix.Openat(p.dir, name, flags|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	if info, err := f.Stat(); err != nil || info.Mode().Type() != os.ModeNamedPipe {
		f.Close()
		return nil, os.ErrInvalid
	}
	return f, nil
}

// accept returns the next connection. A call that no relay would make is ignored.
func (p *pipes) accept() (io.ReadWriteCloser, error) {
	for {
		name := make([]byte, relay.CallSize)
		if _, err := io.ReadFull(p.calls, name); err != nil {
			return nil, err
		}
		to, from, ok := relay.Pipes(string(name))
		if !ok {
			continue
		}
		in, err := p.open(to, unix.O_RDONLY)
		if err != nil {
			continue
		}
		out, err := p.open(from, unix.O_RDWR) // last: the relay waits for it, and then removes both names
		if err != nil {
			in.Close()
			continue
		}
		return duplex{in, out}, nil
	}
}

func (p *pipes) close() {
	p.calls.Close()
	_ = unix.Close(p.dir)
}

// duplex is a connection of two pipes.
type duplex struct{ in, out *os.File }

func (d duplex) Read(b []byte) (int, error)  { return d.in.Read(b) }
func (d duplex) Write(b []byte) (int, error) { return d.out.Write(b) }

func (d duplex) Close() error {
	_ = d.in.Close()
	return d.out.Close()
}

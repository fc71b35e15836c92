// Package embedded is a NATS server with JetStream in this process, which only this process reaches: it listens
// nowhere.
package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// Server is a server that runs.
type Server struct {
	*server.Server
	lock *os.File
}

// Start starts a server that keeps its streams in a directory, which no other process uses meanwhile.
func Start(dir string) (*Server, error) {
	s, err := start(dir)
	if err != nil {
		return nil, fmt.Errorf("start the embedded queue in %s: %w", dir, err)
	}
	return s, nil
}

func start(dir string) (_ *Server, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	if err := disk.Lock(lock); errors.Is(err, disk.ErrLocked) {
		return nil, errors.New("another process has it: wait until that ends, or start a NATS server and name its " +
			"URL with --queue")
	} else if err != nil {
		return nil, err
	}
	s, err := server.NewServer(&server.Options{
		ServerName: "embedded", DontListen: true, NoLog: true, NoSigs: true,
		JetStream: true, StoreDir: dir,
	})
	if err != nil {
		return nil, err
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		s.Shutdown()
		return nil, errors.New("the server did not start within 30 s: its disk may be slow or full; try again")
	}
	return &Server{s, lock}, nil
}

// Close ends the server when all it has is on the disk.
func (s *Server) Close() {
	s.Shutdown()
	s.WaitForShutdown()
	s.lock.Close()
}

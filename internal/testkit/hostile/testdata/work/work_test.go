package work

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"testing"

	"example.com/dep"
)

func TestLoopback(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		if os.Getenv("OFFLINE") != "" {
			t.Skip(err)
		}
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		conn, err := l.Accept()
		if err == nil {
			_, _ = io.WriteString(conn, dep.Word)
			conn.Close()
		}
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if got, err := io.ReadAll(conn); err != nil || string(got) != dep.Word {
		t.Fatal(string(got), err)
	}
}

func TestFiles(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{".", home, os.TempDir(), t.TempDir()} {
		if err := os.WriteFile(filepath.Join(dir, "mine"), nil, 0o755); err != nil {
			t.Error(err)
		}
		if err := os.Chmod(filepath.Join(dir, "mine"), 0o600); err != nil {
			t.Error(err)
		}
	}
}

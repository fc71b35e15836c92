package relay

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
)

// maxSaid is how much of the end of what a server writes is kept, in bytes.
const maxSaid = 2 << 10

// Server is the program [helper.Server]: it runs the MCP server whose command follows the name of a file. Agents go on
// without a server that does not come up. So if one ends by itself before it has answered, the file says how.
func Server(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "sdd-eval: an MCP server: want a file and a command")
		return 2
	}
	s := server{file: args[0]}
	code, err := s.run(exec.Command(args[1], args[2:]...))
	if err != nil {
		fmt.Fprintf(os.Stderr, "sdd-eval: an MCP server: %v\n", err)
	}
	return code
}

// server is a server that runs.
type server struct {
	file     string
	told     atomic.Bool // the agent told it to end
	answered atomic.Bool
	said     []byte // the end of its stderr
}

func (s *server) run(cmd *exec.Cmd) (int, error) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	cmd.Stdout, cmd.Stderr = passed{os.Stdout, s.answer}, passed{os.Stderr, s.say}
	stdin, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return 1, errors.Join(err, s.fail("cannot be started: "+err.Error()))
	}
	go func() {
		if _, err := io.Copy(stdin, os.Stdin); err == nil { // else the server is gone
			s.told.Store(true)
		}
		stdin.Close()
	}()
	go func() {
		for sig := range signals {
			s.told.Store(true)
			_ = cmd.Process.Signal(sig)
		}
	}()
	_ = cmd.Wait() // the state says how it ended
	if s.told.Load() || s.answered.Load() {
		return max(cmd.ProcessState.ExitCode(), 0), nil
	}
	how := "ended before it answered: " + cmd.ProcessState.String()
	if said := strings.TrimSpace(strings.ToValidUTF8(string(s.said), "")); said != "" {
		how += ": " + said
	}
	return 1, s.fail(how)
}

func (s *server) fail(how string) error { return os.WriteFile(s.file, []byte(how), 0o600) }

// answer takes what the server prints. A server that was started again and answers has not failed.
func (s *server) answer(p []byte) {
	if bytes.IndexByte(p, '{') >= 0 && !s.answered.Swap(true) {
		_ = os.Remove(s.file)
	}
}

func (s *server) say(p []byte) {
	s.said = append(s.said, p...)
	s.said = s.said[max(0, len(s.said)-maxSaid):]
}

// passed passes on what somebody sees.
type passed struct {
	to   io.Writer
	sees func([]byte)
}

func (p passed) Write(data []byte) (int, error) {
	p.sees(data)
	return p.to.Write(data)
}

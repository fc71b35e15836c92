package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// maxSaid is how much of the end of what a server writes is kept, in bytes.
	maxSaid = 2 << 10
	// maxLine is how long a line is that counts as an answer, whatever it says.
	maxLine = 1 << 20
	// heldTime is how long what a server has started may hold its output once it has ended.
	heldTime = time.Second
)

// Answered returns the file that says that a server answered for whose failures the given one is.
func Answered(file string) string { return file + ".answered" }

// Server is the program [helper.Server]: it runs the MCP server whose command follows the name of a file. Agents go on
// without a server that does not come up. So if one ends by itself before it has answered, the file says how. An agent
// may start a server twice: if any of them answers, [Answered] is there.
func Server(args []string) int {
	if len(args) < 2 {
		fmt.Fprintln(os.Stderr, "sdd-eval: an MCP server: want a file and a command")
		return 2
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	s := server{
		file: args[0], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, signals: signals, held: heldTime,
	}
	code, err := s.run(exec.Command(args[1], args[2:]...))
	if err != nil {
		fmt.Fprintf(os.Stderr, "sdd-eval: an MCP server: %v\n", err)
	}
	return code
}

// server is a server that runs.
type server struct {
	file           string
	stdin          io.Reader // the agent's end tells the server to end, as signals do
	stdout, stderr io.Writer
	signals        <-chan os.Signal
	held           time.Duration // [heldTime]

	answered atomic.Bool
	line     []byte // of stdout, as far as it is known
	mu       sync.Mutex
	said     []byte // the end of its stderr
	cut      bool   // there was more
}

func (s *server) run(cmd *exec.Cmd) (int, error) {
	stdin, stdout, stderr, err := start(cmd)
	if err != nil {
		return 1, errors.Join(err, s.fail("cannot be started: "+err.Error()))
	}
	defer stdin.Close()
	ctx, tell := context.WithCancel(context.Background())
	defer tell()
	go func() {
		// To its end, even if the server reads no more.
		_, _ = io.Copy(passed{io.Discard, func(p []byte) { _, _ = stdin.Write(p) }}, s.stdin)
		tell()
		stdin.Close()
	}()
	go func() {
		for sig := range s.signals {
			tell()
			_ = cmd.Process.Signal(sig)
		}
	}()
	var output sync.WaitGroup
	output.Go(func() { _, _ = io.Copy(passed{s.stdout, s.answer}, stdout) })
	output.Go(func() { _, _ = io.Copy(passed{s.stderr, s.say}, stderr) })
	drained := make(chan struct{})
	go func() {
		output.Wait()
		close(drained)
	}()

	state, err := cmd.Process.Wait() // not cmd.Wait, which would wait for what the server started, too
	if err != nil {
		return 1, err
	}
	told, code := ctx.Err() != nil, state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		code = 128 + int(status.Signal())
		// A signal to all processes may have reached the server first.
		told = told || status.Signal() == syscall.SIGTERM || status.Signal() == syscall.SIGINT
	}
	select {
	case <-drained:
	case <-time.After(s.held):
		if code == 0 || s.answered.Load() { // what holds the output may be what serves
			select {
			case <-drained:
			case <-ctx.Done():
			}
		}
	}
	if told || s.answered.Load() {
		return code, nil
	}
	how := "ended before it answered: " + state.String()
	if said := s.lastLines(); said != "" {
		how += ": " + said
	}
	return code, s.fail(how)
}

// start starts a command with pipes for all its streams.
func start(cmd *exec.Cmd) (stdin io.WriteCloser, stdout, stderr io.Reader, err error) {
	if stdin, err = cmd.StdinPipe(); err != nil {
		return nil, nil, nil, err
	}
	if stdout, err = cmd.StdoutPipe(); err != nil {
		return nil, nil, nil, err
	}
	if stderr, err = cmd.StderrPipe(); err != nil {
		return nil, nil, nil, err
	}
	return stdin, stdout, stderr, cmd.Start()
}

func (s *server) fail(how string) error { return os.WriteFile(s.file, []byte(how), 0o600) }

// answer takes what the server prints. An answer is a result of JSON-RPC: not an error, nor what else it may print.
func (s *server) answer(p []byte) {
	for len(p) > 0 && !s.answered.Load() {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		s.line, p = append(s.line, line...), rest
		var message struct {
			JSONRPC string          `json:"jsonrpc"`
			Result  json.RawMessage `json:"result"`
		}
		if len(s.line) > maxLine ||
			ended && json.Unmarshal(s.line, &message) == nil && message.JSONRPC == "2.0" && message.Result != nil {
			s.answered.Store(true)
			_ = os.WriteFile(Answered(s.file), nil, 0o600) // only another that fails would miss it
		}
		if ended {
			s.line = s.line[:0]
		}
	}
}

func (s *server) say(p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, p...)
	if more := len(s.said) - maxSaid; more > 0 {
		s.said, s.cut = s.said[more:], true
	}
}

// lastLines returns what is kept of stderr, in whole lines: nobody would mask half of a secret.
func (s *server) lastLines() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	said := string(s.said)
	if s.cut {
		_, said, _ = strings.Cut(said, "\n")
	}
	return strings.TrimSpace(strings.ToValidUTF8(said, ""))
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

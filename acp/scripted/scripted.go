// Package scripted is an agent that follows a script instead of a model: the server's side of the Agent Client Protocol
// over an io.Reader and an io.Writer, in this process or as the main function of one of its own.
//
// It stands in for a real agent at no cost: as a test double for clients, including faults, and as the agent kind
// "fake-acp", with which a first run works without a key. A script is a Go value or a JSON file:
//
//	{"turns": [{"actions": [
//	  {"tool": {"name": "Read", "kind": "read", "title": "Read go.mod", "do": [{"read": {"path": "go.mod"}}]}},
//	  {"say": {"text": "It is a Go module.", "chunks": 3}}
//	]}]}
//
// The n-th prompt of a session is answered by the n-th turn, whatever it says. A prompt past the last turn is an error
// unless the script says "repeat".
//
// The package encodes its messages itself and does not use package acp, so that a mistake in one is not hidden by the
// same mistake in the other.
package scripted

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os/signal"
	"syscall"
	"time"
)

// ExitError means that the script asked the agent to exit.
type ExitError struct {
	Code int
}

// Error names the code.
func (e *ExitError) Error() string {
	return fmt.Sprintf("scripted: the script exits with code %d", e.Code)
}

// errEnded is why an agent stops when its input has ended.
var errEnded = errors.New("scripted: the client closed the connection")

// Run is an agent that plays s for the client that writes to in and reads from out. It returns nil when in ends, an
// [*ExitError] when the script says so, and the context's error when that is done; an invalid script is refused at
// once. As at the end of a process, in and out are closed when it returns, if they are io.Closers. What the
// agent writes to standard error goes to stderr. A read of in that Close cannot interrupt outlives Run.
func Run(ctx context.Context, s Script, in io.Reader, out, stderr io.Writer) error {
	if err := s.Validate(); err != nil {
		return fmt.Errorf("scripted: invalid script: %w", err)
	}
	ctx, end := context.WithCancelCause(ctx)
	srv := &server{
		script: s, ctx: ctx, end: end, stderr: stderr, stopReading: make(chan struct{}),
		out:      writer{faults: s.Faults, out: out},
		sessions: make(map[string]*session), calls: make(map[string]chan message),
	}
	srv.serve(in)
	for _, c := range []any{in, out} { // whoever still reads or writes stops
		if c, ok := c.(io.Closer); ok {
			c.Close()
		}
	}
	srv.work.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, errEnded) {
		return cause
	}
	return nil
}

// Agent is a scripted agent that runs in this process, seen as its client sees it.
type Agent struct {
	// Stdin is what the client writes to; closing it ends the agent.
	Stdin io.WriteCloser
	// Stdout is what the client reads from. It ends when the agent has ended.
	Stdout io.ReadCloser

	done chan struct{}
	err  error
}

// Start runs an agent that plays s. It stops when ctx is done. The pipes between it and the client have no buffer: each
// side waits until the other reads what it writes.
func Start(ctx context.Context, s Script) *Agent {
	in, stdin := io.Pipe()
	stdout, out := io.Pipe()
	a := &Agent{Stdin: stdin, Stdout: stdout, done: make(chan struct{})}
	go func() {
		a.err = Run(ctx, s, in, out, io.Discard)
		close(a.done)
	}()
	return a
}

// Wait waits for the agent's end and returns what [Run] returned. Stdout must be read meanwhile.
func (a *Agent) Wait() error {
	<-a.done
	return a.err
}

// Main is the main function of a process that is a scripted agent: args, without the program's name, are the file of a
// script, or none for the script of [Default]. It returns the process's exit code: the script's own, 1 if the
// connection failed, 2 if there is no valid script.
//
// Any program can become that process, for example a test binary that starts itself:
//
//	func init() {
//		if os.Args[0] == "fake-acp" {
//			os.Exit(scripted.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
//		}
//	}
func Main(args []string, in io.Reader, out, stderr io.Writer) int {
	// With some faults all goroutines wait forever. A timer keeps the runtime from taking that for a deadlock.
	defer time.AfterFunc(math.MaxInt64, func() {}).Stop()
	var script Script
	var err error
	switch len(args) {
	case 0:
		script = Default()
	case 1:
		script, err = Load(args[0])
	default:
		err = fmt.Errorf("want at most one argument, the file of a script, got %q", args)
	}
	if err != nil {
		fmt.Fprintf(stderr, "fake-acp: %v\n", err)
		return 2
	}
	if script.Faults.IgnoreSIGTERM {
		signal.Ignore(syscall.SIGTERM)
	}
	err = Run(context.Background(), script, in, out, stderr)
	if exit, ok := errors.AsType[*ExitError](err); ok {
		return exit.Code
	}
	if err != nil {
		fmt.Fprintf(stderr, "fake-acp: %v\n", err)
		return 1
	}
	return 0
}

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
// connection failed, 2 if there is no script to play.
//
// A program can be that process besides what else it is, for example a test binary that starts itself:
//
//	func init() {
//		if os.Args[0] == "fake-acp" {
//			os.Exit(scripted.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
//		}
//	}
func Main(args []string, in io.Reader, out, stderr io.Writer) int {
	// An agent that waits for nothing any more, as some faults have it, is not a deadlock: the runtime sees a timer.
	defer time.AfterFunc(math.MaxInt64, func() {}).Stop()
	var script Script
	var err error
	switch len(args) {
	case 0:
		script = Default()
	case 1:
		script, err = Load(args[0])
	default:
		err = fmt.Errorf("want the file of a script or nothing, got %q", args)
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

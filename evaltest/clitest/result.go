package clitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
)

// Result is what a tool did.
type Result struct {
	// Stdout and Stderr are what it printed, byte for byte.
	Stdout, Stderr string
	// ExitCode is the code with which it ended, -1 if a signal ended it.
	ExitCode int
	// Signal is the name of the signal that ended it, such as "SIGSEGV"; empty: none did.
	Signal string
	// Duration is how long it ran.
	Duration time.Duration
	// TimedOut tells that it was killed because its time was up.
	TimedOut bool

	t       testing.TB
	command supervise.Command
	stdin   string
	home    string   // where its HOME and TMPDIR are
	env     []string // Cmd.Env
	timeout time.Duration
	near    bool  // the timeout is what go test's deadline leaves
	err     error // why it is not known how it ended
	// droppedOut and droppedErr count bytes.
	droppedOut, droppedErr int64
	// shown tells that the test's log has it.
	shown bool
}

// problem says what is wrong with how the tool ended; empty: nothing.
func (r *Result) problem(want int) string {
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	switch {
	case r.err != nil:
		add("%v", r.err)
	case r.TimedOut && r.near:
		add("was killed after %v because go test's deadline is near: give it more time with -timeout", r.timeout.Round(time.Millisecond))
	case want == AnyEnd:
	case r.TimedOut:
		add("did not end within %v and was killed", r.timeout)
	case r.Signal != "":
		add("was killed by %s", r.Signal)
	case r.ExitCode != want:
		add("ended with exit code %d, not %d", r.ExitCode, want)
	}
	if r.droppedOut > 0 {
		add("printed %d bytes to stdout, and %d more, which were dropped (Cmd.MaxOutput)", len(r.Stdout), r.droppedOut)
	}
	if r.droppedErr > 0 {
		add("printed %d bytes to stderr, and %d more, which were dropped (Cmd.MaxOutput)", len(r.Stderr), r.droppedErr)
	}
	return strings.Join(found, "; it ")
}

// JSON decodes stdout into the value that v points to, as [json.Unmarshal] does, but strictly: stdout has to be one
// JSON value with nothing before or after it, no object may have a key twice, and each key has to be that of a field of
// v, in the same case. Anything else fails the test and ends it.
func (r *Result) JSON(v any) {
	r.t.Helper()
	err := jsonvalue.DecodeStrict([]byte(r.Stdout), v, jsonvalue.Floats)
	if _, ok := errors.AsType[*json.InvalidUnmarshalError](err); ok {
		panic("clitest: Result.JSON needs a pointer to decode into")
	}
	if err != nil {
		r.fatal(r.notJSON(err))
	}
}

// notJSON says why stdout could not be decoded.
func (r *Result) notJSON(err error) string {
	at := ""
	if e, ok := errors.AsType[*jsonvalue.Error](err); ok && e.Line > 0 {
		at = fmt.Sprintf(", at line %d, column %d", e.Line, e.Column)
	}
	_, isSyntax := errors.AsType[*json.SyntaxError](err)
	switch {
	case strings.TrimSpace(r.Stdout) == "":
		return "printed nothing to stdout where JSON was expected"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "printed JSON that is cut: stdout ends within it"
	case errors.Is(err, jsonvalue.ErrTrailing):
		return "printed JSON and something after it" + at
	case isSyntax:
		return fmt.Sprintf("printed to stdout what is not JSON%s: %v", at, err)
	default:
		return fmt.Sprintf("printed JSON that does not fit%s: %v", at, err)
	}
}

// fatal ends the test.
func (r *Result) fatal(problem string) {
	r.t.Helper()
	r.shown = true
	r.t.Fatalf("clitest: %s %s\n%s", r.command.Args[0], r.mask().String(problem), r)
}

package clitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

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
// JSON value with nothing before or after it and no field that v does not have. Anything else fails the test and ends
// it.
func (r *Result) JSON(v any) {
	r.t.Helper()
	dec := json.NewDecoder(strings.NewReader(r.Stdout))
	dec.DisallowUnknownFields()
	err := dec.Decode(v)
	if _, ok := errors.AsType[*json.InvalidUnmarshalError](err); ok {
		panic("clitest: Result.JSON needs a pointer to decode into")
	}
	if err == nil {
		end := int(dec.InputOffset())
		if rest := strings.TrimLeft(r.Stdout[end:], " \t\r\n"); rest != "" {
			r.fatal("printed JSON and something after it, at " + r.position(len(r.Stdout)-len(rest)))
		}
		return
	}
	r.fatal(r.notJSON(err))
}

// notJSON says why stdout could not be decoded.
func (r *Result) notJSON(err error) string {
	syntax, isSyntax := errors.AsType[*json.SyntaxError](err)
	mismatch, isMismatch := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case errors.Is(err, io.EOF):
		return "printed nothing to stdout where JSON was expected"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "printed JSON that is cut: stdout ends within it"
	case isSyntax: // the offset is that of the byte after the offending one
		return fmt.Sprintf("printed to stdout what is not JSON, at %s: %v", r.position(int(syntax.Offset)-1), err)
	case isMismatch:
		return fmt.Sprintf("printed JSON that does not fit, at %s: %v", r.position(int(mismatch.Offset)-1), err)
	default:
		return fmt.Sprintf("printed JSON that does not fit: %v", err)
	}
}

// position names the place of a byte of stdout for people.
func (r *Result) position(offset int) string {
	before := r.Stdout[:min(max(offset, 0), len(r.Stdout))]
	line := before[strings.LastIndexByte(before, '\n')+1:]
	return fmt.Sprintf("line %d, column %d", strings.Count(before, "\n")+1, utf8.RuneCountInString(line)+1)
}

// fatal ends the test.
func (r *Result) fatal(problem string) {
	r.t.Helper()
	r.shown = true
	r.t.Fatalf("clitest: %s %s\n%s", r.command.Args[0], r.mask().String(problem), r)
}

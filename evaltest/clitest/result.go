package clitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sdd-eval/sdd-eval/evaltest/internal/door"
	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

// Result is the result of running a tool.
type Result struct {
	// Stdout and Stderr are the tool's output, byte for byte.
	Stdout, Stderr string
	// ExitCode is the tool's exit code, -1 if a signal ended the tool.
	ExitCode int
	// Signal is the name of the signal that ended the tool, such as "SIGSEGV"; empty: none did.
	Signal string
	// Duration is how long the tool ran.
	Duration time.Duration
	// TimedOut says that the tool was killed because its time was up.
	TimedOut bool

	t       testing.TB
	command supervise.Command
	stdin   string
	home    string   // the directory of its HOME and TMPDIR
	env     []string // Cmd.Env
	timeout time.Duration
	near    bool  // go test's deadline made the timeout shorter
	err     error // why it is unknown how the tool ended

	droppedOut, droppedErr int64 // bytes
	shown                  bool  // the test's log has the result
}

// problem says what is wrong with the result; empty: nothing.
func (r *Result) problem(want int) string {
	var found []string
	add := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	switch {
	case r.err != nil:
		add("%v", r.err)
	case r.TimedOut && r.near:
		add("was killed after %v because go test's deadline is near: give the test more time with -timeout",
			r.timeout.Round(time.Millisecond))
	case want == AnyEnd:
	case r.TimedOut:
		add("did not end within %v and was killed", r.timeout)
	case r.Signal != "":
		add("was killed by %s", r.Signal)
	case r.ExitCode != want:
		add("ended with exit code %d, not %d", r.ExitCode, want)
	}
	if r.droppedOut > 0 {
		add("printed %d bytes to stdout, and %d more that were dropped (Cmd.MaxOutput)", len(r.Stdout), r.droppedOut)
	}
	if r.droppedErr > 0 {
		add("printed %d bytes to stderr, and %d more that were dropped (Cmd.MaxOutput)", len(r.Stderr), r.droppedErr)
	}
	return strings.Join(found, "; it ")
}

// JSON decodes stdout into the value that v points to, as [json.Unmarshal] does, but strictly: stdout must be one JSON
// value without other text, no object may have a duplicate key, and each key must be that of a field of v, in the same
// case. Anything else fails the test and ends it.
func (r *Result) JSON(v any) {
	r.t.Helper()
	err := jsonvalue.DecodeStrict([]byte(r.Stdout), v, jsonvalue.Floats)
	if _, ok := errors.AsType[*json.InvalidUnmarshalError](err); ok {
		panic("clitest: Result.JSON needs a pointer")
	}
	if err != nil {
		r.fatal(r.notJSON(err))
	}
}

// notJSON returns the problem with stdout, which could not be decoded.
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
		return "printed incomplete JSON: stdout ends within it"
	case errors.Is(err, jsonvalue.ErrTrailing):
		return "printed JSON with other text after it" + at
	case isSyntax:
		return fmt.Sprintf("printed text to stdout that is not JSON%s: %v", at, err)
	default:
		return fmt.Sprintf("printed JSON that does not fit%s: %v", at, err)
	}
}

// fatal ends the test.
func (r *Result) fatal(problem string) {
	r.t.Helper()
	r.shown = true
	door.Of(r.t).Fatalf("clitest: %s %s\n%s", r.command.Args[0], r.mask().String(problem), r)
}

// How much a report shows.
const (
	shownLines = 40   // lines of a stream, half of them from its beginning, half from its end
	shownLine  = 1000 // characters of a line
	shownStdin = 200  // bytes of standard input
)

// String returns a report: what ran where, how it ended, what it printed, and how to run it by hand. Values of
// variables that look like credentials are masked. Long output is folded.
func (r *Result) String() string {
	var b strings.Builder
	mask := r.mask()
	fmt.Fprintf(&b, "command:   %s\n", quoted(mask, r.command.Args...))
	fmt.Fprintf(&b, "directory: %s\n", r.command.Dir)
	fmt.Fprintf(&b, "ended:     %s\n", r.end())
	b.WriteString(streamReport("stdout", mask.String(r.Stdout)))
	b.WriteString(streamReport("stderr", mask.String(r.Stderr)))
	fmt.Fprintf(&b, "by hand:   %s", r.byHand(mask))
	return mask.String(b.String())
}

// mask returns the credentials that a tool could have printed.
func (r *Result) mask() *secret.Set {
	var s secret.Set
	s.AddEnvironment(os.Environ())
	s.AddEnvironment(r.env)
	return &s
}

func (r *Result) end() string {
	how := fmt.Sprintf("with exit code %d", r.ExitCode)
	if r.Signal != "" {
		how = "by " + r.Signal
	}
	if r.TimedOut {
		how += " (timeout)"
	}
	return fmt.Sprintf("%s after %v", how, r.Duration.Round(time.Millisecond))
}

// byHand returns a command line for a shell that runs the tool.
func (r *Result) byHand(mask *secret.Set) string {
	const fresh = `="$(mktemp -d)"`
	line := []string{"cd", quoted(mask, r.command.Dir), "&&"}
	switch {
	case len(r.stdin) > shownStdin:
		line = append(line, "cat INPUT |")
	case r.stdin != "":
		line = append(line, "printf %s", quoted(mask, r.stdin), "|")
	}
	line = append(line, "env -i")
	for _, kv := range r.command.Env {
		name, value, _ := strings.Cut(kv, "=")
		if filepath.Dir(value) == r.home { // removed with the test
			line = append(line, name+fresh)
		} else {
			line = append(line, quoted(mask, kv))
		}
	}
	line = append(line, quoted(mask, append([]string{r.command.Path}, r.command.Args[1:]...)...))
	if r.stdin == "" {
		line = append(line, "<"+os.DevNull)
	}
	return strings.Join(line, " ")
}

// quoted returns words quoted for a POSIX shell, masked.
func quoted(mask *secret.Set, text ...string) string {
	masked := make([]string, len(text))
	for i, w := range text {
		masked[i] = mask.String(w)
	}
	return words.Join(masked...)
}

// streamReport returns the part of a report on a stream.
func streamReport(name, text string) string {
	if text == "" {
		return name + ":    nothing\n"
	}
	var b strings.Builder
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	fmt.Fprintf(&b, "%s:    %s\n", name, size(len(text), len(lines)))
	for i, line := range lines {
		switch left := len(lines) - shownLines; {
		case left > 0 && i == shownLines/2:
			fmt.Fprintf(&b, "    ... %d lines ...\n", left)
			continue
		case left > 0 && i > shownLines/2 && i < shownLines/2+left:
			continue
		}
		b.WriteString("    | " + excerpt.Visible(line, shownLine) + "\n")
	}
	return b.String()
}

func size(bytes, lines int) string {
	if lines == 1 {
		return fmt.Sprintf("%d bytes", bytes)
	}
	return fmt.Sprintf("%d bytes, %d lines", bytes, lines)
}

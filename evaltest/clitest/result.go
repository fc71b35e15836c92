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

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/jsonvalue"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/supervise"
	"github.com/sdd-eval/sdd-eval/internal/words"
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

// What a report shows of a stream.
const (
	shownLines = 40   // half of them from its beginning, half from its end
	shownLine  = 1000 // characters of a line
	shownStdin = 200  // bytes of what it could read
)

// String says what ran where, how it ended, what it printed, and how to run it by hand. Values of variables that look
// like credentials are masked. Long output is folded.
func (r *Result) String() string {
	var b strings.Builder
	mask := r.mask()
	fmt.Fprintf(&b, "command:   %s\n", quoted(mask, r.command.Args...))
	fmt.Fprintf(&b, "directory: %s\n", r.command.Dir)
	fmt.Fprintf(&b, "ended:     %s\n", r.end())
	b.WriteString(told("stdout", mask.String(r.Stdout)))
	b.WriteString(told("stderr", mask.String(r.Stderr)))
	fmt.Fprintf(&b, "by hand:   %s", r.byHand(mask))
	return mask.String(b.String())
}

// mask knows the credentials that a tool could have printed.
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
		how += ", its time was up,"
	}
	return fmt.Sprintf("%s after %v", how, r.Duration.Round(time.Millisecond))
}

// byHand is a line for a shell.
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
		if filepath.Dir(value) == r.home { // which goes with the test
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

// quoted returns words as a POSIX shell reads them, masked.
func quoted(mask *secret.Set, text ...string) string {
	masked := make([]string, len(text))
	for i, w := range text {
		masked[i] = mask.String(w)
	}
	return words.Join(masked...)
}

// told is a stream in a report.
func told(name, text string) string {
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

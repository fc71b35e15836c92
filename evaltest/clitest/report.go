package clitest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/words"
)

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

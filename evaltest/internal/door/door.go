// Package door is through which all that our packages print goes to package testing: whatever an agent, a judge or a
// file says, it controls no terminal and begins no command of a CI system.
package door

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/sdd-eval/sdd-eval/internal/excerpt"
)

// T prints to a test as the methods of [testing.TB] of the same names do.
type T struct{ tb testing.TB }

// Of returns the door of a test.
func Of(tb testing.TB) T { return T{tb} }

// Name returns a name for a subtest.
func Name(name string) string { return excerpt.Harmless(name) }

// Attr sets an attribute when the test has ended, below what it prints: people read the reason first. Its value is one
// line. Of several attributes the last comes first.
func (d T) Attr(key, value string) {
	d.tb.Cleanup(func() { d.tb.Attr(key, strings.ReplaceAll(excerpt.Harmless(value), "\n", `\n`)) })
}

// Log is [testing.TB]'s.
func (d T) Log(args ...any) {
	d.tb.Helper()
	d.tb.Log(text(fmt.Sprintln(args...)))
}

// Logf is [testing.TB]'s.
func (d T) Logf(format string, args ...any) {
	d.tb.Helper()
	d.tb.Logf("%s", text(fmt.Sprintf(format, args...)))
}

// Error is [testing.TB]'s.
func (d T) Error(args ...any) {
	d.tb.Helper()
	d.tb.Error(text(fmt.Sprintln(args...)))
}

// Errorf is [testing.TB]'s.
func (d T) Errorf(format string, args ...any) {
	d.tb.Helper()
	d.tb.Errorf("%s", text(fmt.Sprintf(format, args...)))
}

// Fatal is [testing.TB]'s.
func (d T) Fatal(args ...any) {
	d.tb.Helper()
	d.tb.Fatal(text(fmt.Sprintln(args...)))
}

// Fatalf is [testing.TB]'s.
func (d T) Fatalf(format string, args ...any) {
	d.tb.Helper()
	d.tb.Fatalf("%s", text(fmt.Sprintf(format, args...)))
}

// Skip is [testing.TB]'s.
func (d T) Skip(args ...any) {
	d.tb.Helper()
	d.tb.Skip(text(fmt.Sprintln(args...)))
}

// Skipf is [testing.TB]'s.
func (d T) Skipf(format string, args ...any) {
	d.tb.Helper()
	d.tb.Skipf("%s", text(fmt.Sprintf(format, args...)))
}

// Output is [testing.TB]'s. What is written to it at once should be whole lines.
func (d T) Output() io.Writer { return output{d.tb.Output()} }

type output struct{ w io.Writer }

func (o output) Write(p []byte) (int, error) {
	_, err := io.WriteString(o.w, excerpt.Harmless(string(p)))
	return len(p), err
}

// text makes a text harmless. Package testing ends it with a line end.
func text(s string) string { return excerpt.Harmless(strings.TrimSuffix(s, "\n")) }

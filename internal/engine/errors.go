package engine

import "github.com/sdd-eval/sdd-eval/internal/fault"

// stepFailure is a step that says that the agent did wrong; every other error says that we know nothing about it.
type stepFailure struct {
	reason string
}

func (f *stepFailure) Error() string { return f.reason }

// stepSkipped is a step that does not apply in this run.
type stepSkipped string

func (s stepSkipped) Error() string { return string(s) }

// Advice returns what a person can do about an error of this package, a command for the most part; empty if there is
// nothing to be said.
func Advice(err error) string { return fault.Advice(err) }

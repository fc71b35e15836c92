package engine

import (
	"errors"
)

// stepFailure is a step that says that the agent did wrong; every other error says that we know nothing about it.
type stepFailure struct {
	reason string
}

func (f *stepFailure) Error() string { return f.reason }

// stepSkipped is a step that does not apply in this run.
type stepSkipped string

func (s stepSkipped) Error() string { return string(s) }

// infrastructure marks an error that another attempt may not meet.
type infrastructure struct{ error }

func (e infrastructure) Unwrap() error { return e.error }

// advised is an error with the command that gets a person on.
type advised struct {
	error
	next string
}

func (e advised) Unwrap() error { return e.error }

// Advice returns what a person can do about an error of this package, a command for the most part; empty if there is
// nothing to be said.
func Advice(err error) string {
	if a, ok := errors.AsType[advised](err); ok {
		return a.next
	}
	return ""
}

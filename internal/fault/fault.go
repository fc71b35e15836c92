// Package fault marks errors for who decides how to go on after them: a person, or the harness that may try again.
// Texts of errors belong where they arise.
package fault

import "errors"

// advised is an error with what a person can do about it.
type advised struct {
	error
	next string
}

func (e advised) Unwrap() error { return e.error }

// Advise returns err with what a person can do about it, a command for the most part.
func Advise(err error, next string) error { return advised{err, next} }

// Advice returns what a person can do about err; empty if there is nothing to be said.
func Advice(err error) string {
	if a, ok := errors.AsType[advised](err); ok {
		return a.next
	}
	return ""
}

// transient is an error that another attempt may not meet.
type transient struct{ error }

func (e transient) Unwrap() error { return e.error }

// limited is an error of a model that takes no more requests for a while.
type limited struct{ error }

func (e limited) Unwrap() error { return e.error }

// RateLimit marks err as one that another attempt does not meet when a limit of the account is over.
func RateLimit(err error) error { return limited{err} }

// IsRateLimit reports whether err was marked by [RateLimit].
func IsRateLimit(err error) bool {
	_, ok := errors.AsType[limited](err)
	return ok
}

// Transient marks err as one that another attempt may not meet: the agent did not start, its model was not to be had.
func Transient(err error) error { return transient{err} }

// IsTransient reports whether err was marked by [Transient].
func IsTransient(err error) bool {
	_, ok := errors.AsType[transient](err)
	return ok
}

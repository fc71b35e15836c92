// Package panics makes errors of panics, so that one unit's fault does not end the process that runs all of them.
package panics

import (
	"fmt"
	"runtime/debug"
)

// Error is a panic that was caught.
type Error struct {
	// Value is what was given to panic, Stack where that was.
	Value any
	Stack []byte
}

func (e *Error) Error() string { return fmt.Sprintf("panic: %v\n\n%s", e.Value, e.Stack) }

// Catch calls f and returns its error, or an [*Error] if it panics.
func Catch(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &Error{Value: v, Stack: debug.Stack()}
		}
	}()
	return f()
}

package script

import "github.com/sdd-eval/sdd-eval/internal/excerpt"

const (
	// maxStderr is how much of the end of what a script wrote to its standard error an error shows, in bytes.
	maxStderr = 2000
	// maxName is how many characters of a script's words an error shows.
	maxName = 200
)

// Error says that a script did not end as it should have.
type Error struct {
	// Script is the script as a person would type it.
	Script string
	// Err says how it ended: with an exit code or by a signal, at its timeout, or before it had begun.
	Err error
	// Stderr is the end of what it wrote to its standard error, at most 2,000 bytes of one or more lines.
	Stderr string
}

// Error returns all of it in one line.
func (e *Error) Error() string {
	text := "script " + e.Script + ": " + e.Err.Error()
	if e.Stderr != "" {
		text += ": " + excerpt.Line(e.Stderr, maxStderr)
	}
	return text
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

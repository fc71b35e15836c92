package script

import "strings"

const (
	// maxStderr is how much of the end of what a script wrote to its standard error an error shows, in bytes.
	maxStderr = 2000
	// maxName is how much of a script's words an error shows, in bytes.
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
		text += ": " + fold(e.Stderr, maxStderr)
	}
	return text
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// fold makes one line of at most limit bytes.
func fold(text string, limit int) string {
	text = strings.Join(strings.Fields(strings.ToValidUTF8(text, "\uFFFD")), " ")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " ..."
}

package cassette

import (
	"fmt"
	"io/fs"
	"strings"
)

// MissingError says that there is no cassette. It is an [fs.ErrNotExist].
type MissingError struct{ Path string }

func (e *MissingError) Error() string { return fmt.Sprintf("%s: there is no such cassette", e.Path) }

// Unwrap returns [fs.ErrNotExist].
func (e *MissingError) Unwrap() error { return fs.ErrNotExist }

// CorruptError says that a file is not what was recorded: it was cut, edited, is of another version, or never was a
// cassette.
type CorruptError struct {
	Path   string
	Line   int // 1-based; 0: unknown
	Reason string
}

func (e *CorruptError) Error() string {
	if e.Line == 0 {
		return fmt.Sprintf("%s: %s", e.Path, e.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Reason)
}

// UnitError says that a cassette, in its first line, is that of another unit than the one to be replayed.
type UnitError struct {
	Recorded, Wanted string // unit ids
}

func (e *UnitError) Error() string {
	return fmt.Sprintf("the cassette was recorded for %s, not for %s", e.Recorded, e.Wanted)
}

// StaleError says that a cassette was recorded from something else than what the playbook says now.
type StaleError struct {
	Path    string
	Changes []Change
}

func (e *StaleError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "stale cassette %s: since it was recorded there changed", e.Path)
	for _, c := range e.Changes {
		b.WriteString("\n  " + strings.ReplaceAll(c.String(), "\n", "\n  "))
	}
	return b.String()
}

package cassette

import (
	"fmt"
	"strings"
)

// MissingError says that there is no cassette.
type MissingError struct{ Path string }

func (e *MissingError) Error() string { return fmt.Sprintf("%s: there is no such cassette", e.Path) }

// CorruptError says that a file is not what was recorded: it was cut, edited, or never was a cassette.
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

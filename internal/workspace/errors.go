package workspace

import (
	"fmt"
	"strings"
)

// TooLargeError says that the changes of one turn hold more than a cassette may.
type TooLargeError struct {
	Total, Limit int64 // in bytes
	Biggest      []Entry
}

func (e *TooLargeError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "changes to the workspace hold %s, over the limit of %s (cassette.max_delta); the biggest:",
		size(e.Total), size(e.Limit))
	for i, entry := range e.Biggest {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, " %s (%s)", entry.Path, size(entry.Size))
	}
	return b.String()
}

// UnstableError says that a workspace changed each time it was read, so that no reading is one moment of it.
type UnstableError struct {
	Path string // where a change was seen last
}

func (e *UnstableError) Error() string {
	return fmt.Sprintf("%s keeps changing while the workspace is read: a process is still writing to it", e.Path)
}

// NameError says that a file's name cannot be written down.
type NameError struct {
	Path string
}

func (e *NameError) Error() string {
	return fmt.Sprintf("file name %q is not valid UTF-8, so no cassette can hold it: rename or exclude it", e.Path)
}

func size(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%d bytes", n)
}

// Package workspace makes the directory an agent works in, says what the agent changed there, and makes the same changes
// again.
//
// Nothing outside the directory is ever read or written: files are reached through [os.Root] and symbolic links are
// values, never followed. Git's own directories (.git) are not part of a workspace.
package workspace

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"
)

// Kind is what is at a path.
type Kind string

// The kinds of entries. Anything else, such as a FIFO or a device, is left out.
const (
	File    Kind = "file"
	Dir     Kind = "dir"
	Symlink Kind = "symlink"
)

// Entry is one file, directory or symbolic link of a workspace.
type Entry struct {
	// Path is relative to the workspace, with slashes.
	Path string
	Kind Kind
	// Exec tells whether the owner of a file may execute it.
	Exec bool
	// Size is a file's length in bytes, and the length of all files of an ignored directory.
	Size int64
	// Digest is the SHA-256 of a file's content in hexadecimal, and for an ignored directory that of all it holds.
	Digest string
	// Target is where a symbolic link points.
	Target string
	// Ignored marks what is known but not kept: a path that git ignores, with all below it, and a symbolic link that
	// may lead outside.
	Ignored bool
}

// Manifest is what a workspace holds at one moment. The zero value is an empty workspace.
type Manifest struct {
	Entries []Entry // sorted by path, without duplicates
}

// Lookup returns the entry at path.
func (m Manifest) Lookup(path string) (Entry, bool) {
	i, ok := m.search(path)
	if !ok {
		return Entry{}, false
	}
	return m.Entries[i], true
}

func (m Manifest) search(path string) (int, bool) {
	return slices.BinarySearchFunc(m.Entries, path, func(e Entry, path string) int { return cmp.Compare(e.Path, path) })
}

// set puts e in the place of an entry with the same path, or adds it.
func (m *Manifest) set(e Entry) {
	i, ok := m.search(e.Path)
	if !ok {
		m.Entries = slices.Insert(m.Entries, i, Entry{})
	}
	m.Entries[i] = e
}

// Digest returns a SHA-256 in hexadecimal over paths, contents, link targets and executable bits. Directories do not
// count, since a clone of the same files may lack the empty ones, and neither does what is ignored.
func (m Manifest) Digest() string {
	h := sha256.New()
	for _, e := range m.Entries {
		if e.Kind != Dir && !e.Ignored {
			e.hashInto(h)
		}
	}
	return hexSum(h)
}

// hashInto adds a line that no other entry has: a path cannot contain NUL.
func (e Entry) hashInto(h hash.Hash) {
	exec := ""
	if e.Exec {
		exec = "x"
	}
	_, _ = io.WriteString(h, strings.Join([]string{string(e.Kind), exec, e.Path, e.Digest, e.Target, "\n"}, "\x00"))
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func hexSum(h hash.Hash) string {
	var sum [sha256.Size]byte
	return hex.EncodeToString(h.Sum(sum[:0]))
}

// manifestOf sorts entries, which it keeps.
func manifestOf(entries []Entry) Manifest {
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return Manifest{Entries: entries}
}

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

// Package workspace prepares the directory in which an agent works, finds what the agent changed there, and makes the
// same changes again. It runs no process but git's that reads a commit, see package git.
//
// Nothing else outside the directory is ever read or written: files are reached through [os.Root], and symbolic links
// are values that are never followed. Git's own directories (.git) are not part of a workspace.
package workspace

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"path"
	"slices"
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
	Path string `json:"path"`
	Kind Kind   `json:"kind"`
	// Exec says that the owner of the file may execute it.
	Exec bool `json:"exec,omitempty"`
	// Size is the length of a file, or of all files in an ignored directory, in bytes.
	Size int64 `json:"size,omitempty"`
	// Digest is the SHA-256 of a file's content, or of everything in an ignored directory, in hexadecimal.
	Digest string `json:"sha256,omitempty"`
	// Target is where a symbolic link points.
	Target string `json:"target,omitempty"`
	// Ignored marks entries whose content is not kept: a path that git ignores, with everything below it, or a symbolic
	// link that may lead outside.
	Ignored bool `json:"-"`
}

// Manifest lists the entries of a workspace at one moment. The zero value is an empty workspace.
type Manifest struct {
	Entries []Entry // sorted by path, without duplicates
	// LeftOut is what the workspace has and an [Exclusion] leaves out.
	LeftOut LeftOut
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

// Same reports whether a and m have the same at path: nothing, or the same file, directory or link. Below a tree that
// git ignores, of which there is one entry, it tells whether the whole tree is the same.
func (m Manifest) Same(a Manifest, path string) bool {
	was, is := m.at(path), a.at(path)
	return was.Kind == is.Kind && was.Exec == is.Exec && was.Digest == is.Digest && was.Target == is.Target
}

// at returns the entry at path, or that of the ignored tree in which it is, or none.
func (m Manifest) at(p string) Entry {
	if e, ok := m.Lookup(p); ok {
		return e
	}
	for dir := path.Dir(p); dir != "."; dir = path.Dir(dir) {
		if e, ok := m.Lookup(dir); ok {
			if e.Ignored && e.Kind == Dir {
				return e
			}
			break
		}
	}
	return Entry{}
}

// Plus returns m with what of has at these paths and the directories that lead there.
func (m Manifest) Plus(of Manifest, paths []string) Manifest {
	m.Entries = slices.Clone(m.Entries)
	for _, p := range paths {
		for ; p != "."; p = path.Dir(p) {
			if e, ok := of.Lookup(p); ok {
				m.set(e)
			}
		}
	}
	return m
}

// set replaces the entry with the path of e, or adds e.
func (m *Manifest) set(e Entry) {
	i, ok := m.search(e.Path)
	if !ok {
		m.Entries = slices.Insert(m.Entries, i, Entry{})
	}
	m.Entries[i] = e
}

// Digest returns a SHA-256 in hexadecimal over paths, contents, link targets and executable bits. Directories do not
// count, since a clone of the same files may lack the empty ones, and neither do ignored entries.
func (m Manifest) Digest() string {
	h := sha256.New()
	var line []byte
	for _, e := range m.Entries {
		if e.Kind != Dir && !e.Ignored {
			line = e.appendTo(line[:0])
			_, _ = h.Write(line)
		}
	}
	return hexSum(h)
}

// appendTo adds a line for digests. It differs for different entries, because a path cannot contain NUL.
func (e Entry) appendTo(line []byte) []byte {
	exec := ""
	if e.Exec {
		exec = "x"
	}
	for _, field := range []string{string(e.Kind), exec, e.Path, e.Digest, e.Target} {
		line = append(append(line, field...), 0)
	}
	return append(line, '\n')
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func hexSum(h hash.Hash) string {
	var sum [sha256.Size]byte
	return hex.EncodeToString(h.Sum(sum[:0]))
}

// manifestOf returns the manifest with these entries, which it sorts in place.
func manifestOf(entries []Entry) Manifest {
	slices.SortFunc(entries, func(a, b Entry) int { return cmp.Compare(a.Path, b.Path) })
	return Manifest{Entries: entries}
}

// unstableError says that a workspace changed each time it was read, so that there is no consistent snapshot of it.
type unstableError struct {
	Path string // where the last change was seen
}

func (e *unstableError) Error() string {
	return fmt.Sprintf("%s keeps changing while the workspace is read: a process is still writing to it", e.Path)
}

// nameError says that a file's name cannot be written to a cassette.
type nameError struct {
	Path string
}

func (e *nameError) Error() string {
	return fmt.Sprintf("file name %q is not valid UTF-8, which cassettes need: rename or exclude the file", e.Path)
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

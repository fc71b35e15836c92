package workspace

import (
	"maps"
	"path"
	"slices"
)

// Op is what happened to a path.
type Op string

// What can happen to a path. A path whose kind changed was modified.
const (
	Added    Op = "added"
	Modified Op = "modified"
	Deleted  Op = "deleted"
)

// Change is what happened to one path between two moments.
type Change struct {
	// Path is relative to the workspace, with slashes.
	Path string
	Op   Op
	// Kind is what is at the path after the change, or was there before it was deleted.
	Kind Kind
	// Exec tells whether a file may be executed.
	Exec bool
	// ModeOnly tells that a file's executable bit changed and its content, which Data lacks, did not.
	ModeOnly bool
	// Data is a file's new content.
	Data []byte
	// Target is where a symbolic link points.
	Target string
	// Ignored marks a change that is known but not kept, see [Entry.Ignored]: Apply leaves the path alone.
	Ignored bool
	// Digest is the new content of what is ignored, see [Entry.Digest].
	Digest string
}

// Writes reports whether the change gives a file a new content, which is kept.
func (c Change) Writes() bool { return c.Kind == File && c.Op != Deleted && !c.ModeOnly && !c.Ignored }

// Delta is what happened in a workspace between two moments. A directory that was added has a change of its own only if
// nothing else tells of it, as it is empty.
type Delta struct {
	Changes []Change // sorted by path, without duplicates
}

// diff returns how before became after; data has the contents of the files that are not the same.
func diff(before, after Manifest, data map[string][]byte) Delta {
	old := make(map[string]Entry, len(before.Entries))
	for _, e := range before.Entries {
		old[e.Path] = e
	}
	implied := make(map[string]bool) // directories that come with what is in them
	for _, e := range after.Entries {
		if !e.Ignored {
			implied[path.Dir(e.Path)] = true
		}
	}
	changes := make(map[string]Change)
	for _, is := range after.Entries {
		was, ok := old[is.Path]
		delete(old, is.Path)
		c, changed := Change{}, false
		switch {
		case !ok || was.Ignored && !is.Ignored:
			c, changed = is.change(Added), is.Kind != Dir || is.Ignored || !implied[is.Path]
		case is.Ignored && !was.Ignored:
			c, changed = was.change(Deleted), true // once ignored, it is as good as gone
		case is.Kind == File && was.Kind == File && !is.Ignored && is.Digest == was.Digest:
			c, changed = is.change(Modified), is.Exec != was.Exec
			c.ModeOnly = true
		default:
			is.Size, was.Size = 0, 0
			c, changed = is.change(Modified), is != was
		}
		if changed {
			if c.Op != Deleted && !c.ModeOnly {
				c.Data = data[c.Path]
			}
			changes[c.Path] = c
		}
	}
	for p, e := range old {
		changes[p] = e.change(Deleted)
	}
	var d Delta
	for _, p := range slices.Sorted(maps.Keys(changes)) {
		d.Changes = append(d.Changes, changes[p])
	}
	return d
}

func (e Entry) change(op Op) Change {
	c := Change{Path: e.Path, Op: op, Kind: e.Kind, Ignored: e.Ignored}
	if op != Deleted {
		c.Exec, c.Target = e.Exec, e.Target
		if e.Ignored {
			c.Digest = e.Digest
		}
	}
	return c
}

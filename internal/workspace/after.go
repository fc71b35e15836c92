package workspace

import (
	"maps"
	"path"
	"slices"
)

// ApplyTo returns what a workspace that holds m holds once d was applied in it, without looking at any. Known is false
// where that cannot be told: git's rules may make something else of what is there, or a content is not in d.
func (d Delta) ApplyTo(m Manifest) (after Manifest, known bool) {
	entries := make(map[string]Entry, len(m.Entries)+len(d.Changes))
	for _, e := range m.Entries {
		if path.Base(e.Path) == ignoreFile {
			return Manifest{}, false
		}
		entries[e.Path] = e
	}
	for _, c := range d.Changes {
		if path.Base(c.Path) == ignoreFile || c.Writes() && c.Data == nil {
			return Manifest{}, false
		}
		if c.Op == Deleted {
			delete(entries, c.Path)
		}
	}
	for _, c := range d.Changes {
		if c.Op == Deleted || c.Ignored {
			continue
		}
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			entries[dir] = Entry{Path: dir, Kind: Dir}
		}
		e := Entry{Path: c.Path, Kind: c.Kind, Exec: c.Exec, Target: c.Target}
		switch {
		case c.ModeOnly:
			e.Size, e.Digest = entries[c.Path].Size, entries[c.Path].Digest
		case c.Kind == File:
			e.Size, e.Digest = int64(len(c.Data)), digest(c.Data)
		}
		entries[c.Path] = e
	}
	return manifestOf(slices.Collect(maps.Values(entries))), true
}

package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"

	"github.com/sdd-eval/sdd-eval/internal/disk"
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
	// Exec says that the file is executable.
	Exec bool
	// ModeOnly says that only the file's executable bit changed. Data is then nil.
	ModeOnly bool
	// Data is a file's new content.
	Data []byte
	// Target is where a symbolic link points.
	Target string
	// Ignored marks a change whose content is not kept, see [Entry.Ignored]. Apply does not make it.
	Ignored bool
	// Digest is the digest of an ignored entry's new content, see [Entry.Digest].
	Digest string
}

// Writes reports whether the change sets a file's content and has that content.
func (c Change) Writes() bool { return c.Kind == File && c.Op != Deleted && !c.ModeOnly && !c.Ignored }

// Delta lists what happened in a workspace between two moments. An added directory has a change of its own only if it
// is empty; otherwise the changes of its entries imply it.
type Delta struct {
	Changes []Change // sorted by path, without duplicates
}

// diff returns the changes from before to after. Data has the contents of changed files.
func diff(before, after Manifest, data map[string][]byte) Delta {
	implied := sync.OnceValue(after.implied)
	var d Delta
	add := func(c Change) {
		if c.Op != Deleted && !c.ModeOnly {
			c.Data = data[c.Path]
		}
		d.Changes = append(d.Changes, c)
	}
	old := before.Entries
	for _, is := range after.Entries {
		for len(old) > 0 && old[0].Path < is.Path {
			add(old[0].change(Deleted))
			old = old[1:]
		}
		var was Entry
		ok := len(old) > 0 && old[0].Path == is.Path
		if ok {
			was, old = old[0], old[1:]
		}
		c, changed := Change{}, false
		switch {
		case !ok || was.Ignored && !is.Ignored:
			c, changed = is.change(Added), is.Kind != Dir || is.Ignored || !implied()[is.Path]
		case is.Ignored && !was.Ignored:
			c, changed = was.change(Deleted), true // its content is no longer kept
		case is.Kind == File && was.Kind == File && !is.Ignored && is.Digest == was.Digest:
			c, changed = is.change(Modified), is.Exec != was.Exec
			c.ModeOnly = true
		default:
			is.Size, was.Size = 0, 0
			c, changed = is.change(Modified), is != was
		}
		if changed {
			add(c)
		}
	}
	for _, e := range old {
		add(e.change(Deleted))
	}
	return d
}

// implied returns the directories that their entries imply.
func (m Manifest) implied() map[string]bool {
	dirs := make(map[string]bool)
	for _, e := range m.Entries {
		if !e.Ignored {
			dirs[path.Dir(e.Path)] = true
		}
	}
	return dirs
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

// ApplyTo returns the manifest after d is applied to a workspace with manifest m, without reading a workspace. Known is
// false if that cannot be determined: git may ignore some of the entries, or d lacks a content.
func (d Delta) ApplyTo(m Manifest) (after Manifest, known bool) {
	if slices.ContainsFunc(m.Entries, func(e Entry) bool { return path.Base(e.Path) == ignoreFile }) {
		return Manifest{}, false
	}
	changed := make(map[string]Entry, len(d.Changes)) // the zero value where nothing is left
	for _, c := range d.Changes {
		if path.Base(c.Path) == ignoreFile || c.Writes() && c.Data == nil {
			return Manifest{}, false
		}
		if c.Op == Deleted {
			changed[c.Path] = Entry{}
		}
	}
	for _, c := range d.Changes {
		if c.Op == Deleted || c.Ignored {
			continue
		}
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			changed[dir] = Entry{Path: dir, Kind: Dir}
		}
		e := Entry{Path: c.Path, Kind: c.Kind, Exec: c.Exec, Target: c.Target}
		switch {
		case c.ModeOnly:
			was, ok := changed[c.Path]
			if !ok {
				was, _ = m.Lookup(c.Path)
			}
			e.Size, e.Digest = was.Size, was.Digest
		case c.Kind == File:
			e.Size, e.Digest = int64(len(c.Data)), digest(c.Data)
		}
		changed[c.Path] = e
	}
	return m.replace(changed), true
}

// replace returns m with other entries at some paths; the zero value takes what is there away.
func (m Manifest) replace(changed map[string]Entry) Manifest {
	entries := make([]Entry, 0, len(m.Entries)+len(changed))
	for _, e := range m.Entries {
		if _, other := changed[e.Path]; !other {
			entries = append(entries, e)
		}
	}
	for _, e := range changed {
		if e.Kind != "" {
			entries = append(entries, e)
		}
	}
	return manifestOf(entries)
}

// Apply makes the changes of d in dir, which must be in the state in which they were recorded: a path that is missing
// or in the way is an error, and so is one that is not below dir, or below it only through a symbolic link. Ignored
// changes are not made. After an error some changes may have been made.
func (d Delta) Apply(dir string) error { return d.applyIn(dir, false) }

// Complete makes the changes in dir that have not been made there yet, or were made differently.
func (d Delta) Complete(dir string) error { return d.applyIn(dir, true) }

func (d Delta) applyIn(dir string, made bool) error {
	if len(d.Changes) == 0 {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("apply changes to workspace: %w", err)
	}
	defer func() { _ = root.Close() }()
	if err := d.apply(editor{root: directory{root}, made: made, dirs: map[string]bool{".": true}}); err != nil {
		return fmt.Errorf("apply changes to workspace: %w", err)
	}
	return nil
}

func (d Delta) apply(e editor) error {
	if err := d.check(); err != nil {
		return err
	}
	for _, c := range slices.Backward(d.Changes) { // delete a directory after its entries
		if c.Op == Deleted && !c.Ignored {
			if err := e.remove(c.Path, c.Kind); err != nil {
				return fmt.Errorf("delete %s: %w", c.Path, err)
			}
		}
	}
	for _, c := range d.Changes {
		if c.Op != Deleted && !c.Ignored {
			if err := e.put(c); err != nil {
				return fmt.Errorf("write %s: %w", c.Path, err)
			}
		}
	}
	return nil
}

// check returns an error if d cannot be applied to any workspace.
func (d Delta) check() error {
	last := ""
	for _, c := range d.Changes {
		if err := checkPath(c.Path); err != nil {
			return err
		}
		if c.Path <= last {
			return fmt.Errorf("%s comes after %s: changes are not sorted by path", c.Path, last)
		}
		last = c.Path
		if c.Kind == Symlink && c.Op != Deleted && !c.Ignored && !leadsInside(c.Path, c.Target) {
			return fmt.Errorf("%s: symbolic link to %q may lead outside", c.Path, c.Target)
		}
	}
	return nil
}

// checkPath returns an error if p cannot be a path of a workspace.
func checkPath(p string) error {
	if !fs.ValidPath(p) || p == "." || len(p) > maxPath {
		return fmt.Errorf("%q is not a path below the workspace", p)
	}
	if inGit(p) {
		return fmt.Errorf("%q belongs to git, not to the workspace", p)
	}
	if _, err := filepath.Localize(p); err != nil {
		return fmt.Errorf("%q is not a file name on this system", p)
	}
	return nil
}

// editor changes files below a root. It follows no links, not even those that stay below the root.
type editor struct {
	root interface {
		Lstat(path string) (fs.FileInfo, error)
		Mkdir(path string, perm fs.FileMode) error
		Symlink(target, path string) error
		Chmod(path string, perm fs.FileMode) error
		Remove(path string) error
		RemoveAll(path string) error
		write(path string, data []byte, exec bool) error // a file that is not there
	}
	made bool            // some of the changes may have been made
	dirs map[string]bool // known to be directories and no links
}

// directory is a root on disk.
type directory struct{ *os.Root }

func (d directory) write(p string, data []byte, exec bool) error {
	return writeFile(d.OpenFile, p, data, exec)
}

// put makes the change c, which is not a deletion.
func (e *editor) put(c Change) error {
	if err := e.makeDir(path.Dir(c.Path)); err != nil {
		return err
	}
	if c.Op == Modified || e.made {
		kind, err := e.kind(c.Path)
		switch {
		case e.made && errors.Is(err, errMissing) && !c.ModeOnly:
			err = nil
		case err != nil:
		case c.ModeOnly:
			return e.chmod(c.Path, kind, c.Exec)
		case e.made && kind == Dir && c.Kind == Dir:
			return nil
		default:
			err = e.clear(c.Path, kind)
		}
		if err != nil {
			return err
		}
	}
	switch c.Kind {
	case Dir:
		return e.root.Mkdir(c.Path, 0o755)
	case Symlink:
		return e.root.Symlink(filepath.FromSlash(c.Target), c.Path)
	case File:
		return e.root.write(c.Path, c.Data, c.Exec)
	}
	return fmt.Errorf("unknown kind %q", c.Kind)
}

func (e *editor) chmod(p string, kind Kind, exec bool) error {
	if kind != File {
		return fmt.Errorf("it is a %s, not a file", kind)
	}
	return e.root.Chmod(p, perm(exec))
}

// remove deletes p, whose kind must be want.
func (e *editor) remove(p string, want Kind) error {
	if err := e.makeDir(path.Dir(p)); err != nil {
		return err
	}
	kind, err := e.kind(p)
	if e.made && errors.Is(err, errMissing) {
		return nil
	}
	if err != nil {
		return err
	}
	if kind != want {
		return fmt.Errorf("it is a %s, not a %s", kind, want)
	}
	return e.clear(p, kind)
}

// clear deletes p, whose kind is given.
func (e *editor) clear(p string, kind Kind) error {
	delete(e.dirs, p)
	if kind == Dir {
		return e.root.RemoveAll(p) // it may still have ignored entries
	}
	return e.root.Remove(p)
}

// makeDir makes sure that p and its parents are directories and not links. It makes those that are missing: a clone of
// the same files lacks the empty ones.
func (e *editor) makeDir(p string) error {
	if e.dirs[p] {
		return nil
	}
	if err := e.makeDir(path.Dir(p)); err != nil {
		return err
	}
	kind, err := e.kind(p)
	if errors.Is(err, errMissing) {
		err = e.root.Mkdir(p, 0o755)
	} else if err == nil && kind != Dir {
		err = fmt.Errorf("%s is a %s, not a directory", p, kind)
	}
	if err == nil {
		e.dirs[p] = true
	}
	return err
}

var errMissing = errors.New("not found: the workspace differs from the recorded one")

// kind returns what is at p.
func (e *editor) kind(p string) (Kind, error) {
	info, err := e.root.Lstat(p)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", errMissing
	case err != nil:
		return "", err
	case info.IsDir():
		return Dir, nil
	case info.Mode()&fs.ModeSymlink != 0:
		return Symlink, nil
	case info.Mode().IsRegular():
		return File, nil
	}
	return "", errNotRegular
}

// createNew are the flags for opening a new file for writing. The file must not exist, not even as a link.
const createNew = os.O_WRONLY | os.O_CREATE | os.O_EXCL | disk.Nonblock

// writeFile makes a file with open, which is [os.OpenFile] or that of a root.
func writeFile(open func(string, int, fs.FileMode) (*os.File, error), p string, data []byte, exec bool) error {
	f, err := open(p, createNew, perm(exec))
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Close())
}

func perm(exec bool) fs.FileMode {
	if exec {
		return 0o755
	}
	return 0o644
}

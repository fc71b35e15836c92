package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"syscall"
)

// Overlay is a workspace that is nowhere on disk: the files of a template, and what was made of them since. It is read
// as [Files]. What it cannot do as a directory would is an error that changes nothing: then make it a directory, by
// [Overlay.Write], and do it there. An overlay may be read by several goroutines while none changes it.
type Overlay struct {
	template *Template // loaded
	// changed is what is at a path where it is not what the template has; Kind is empty where nothing is.
	changed map[string]layer
}

// layer is what is at one path of an overlay.
type layer struct {
	Entry
	data []byte
}

// Overlay returns a workspace as [Template.Prepare] makes it, with these seed files, and what it leaves out. It is nil
// if it would not be whole: a template that copies git's own files has more than a workspace's manifest tells of.
func (t *Template) Overlay(seeds map[string]Seed) (*Overlay, []Note, error) {
	if t.ownGit {
		return nil, nil, nil
	}
	o := &Overlay{template: t}
	d, err := t.base.seeds(seeds)
	if err == nil {
		err = o.Apply(d)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("prepare workspace: %w", err)
	}
	return o, t.left, nil
}

// EmptyOverlay returns a workspace without files.
func EmptyOverlay() *Overlay { return &Overlay{template: new(Template)} }

// Baseline returns the baseline of a workspace that [Overlay.Write] has made.
func (o *Overlay) Baseline() Baseline {
	b := Baseline{manifest: o.Manifest(), template: o.template, written: make(map[string][]byte, len(o.changed))}
	for p, l := range o.changed {
		if l.data != nil {
			b.written[p] = l.data
		}
	}
	return b
}

// Clone returns an overlay that can be changed apart from o.
func (o *Overlay) Clone() *Overlay { return &Overlay{o.template, maps.Clone(o.changed)} }

// Apply is [Delta.Apply]. After an error nothing has changed.
func (o *Overlay) Apply(d Delta) error {
	next := o.Clone()
	if next.changed == nil {
		next.changed = make(map[string]layer, len(d.Changes))
	}
	if err := d.apply(editor{root: editable{next}, dirs: map[string]bool{".": true}}); err != nil {
		return fmt.Errorf("apply changes to workspace: %w", err)
	}
	*o = *next
	return nil
}

// Manifest lists all that is in the overlay. It must not be changed.
func (o *Overlay) Manifest() Manifest {
	if len(o.changed) == 0 {
		return o.template.base
	}
	changed := make(map[string]Entry, len(o.changed))
	for p, l := range o.changed {
		changed[p] = l.Entry
	}
	return o.template.base.replace(changed)
}

// Delta returns how the overlay differs from its template. Applied to a workspace that is prepared from the template
// alone, it makes the overlay's.
func (o *Overlay) Delta() (Delta, error) {
	was, is := o.both(&Overlay{template: o.template})
	d := diff(was, is, nil)
	for i, c := range d.Changes {
		if !c.Writes() {
			continue
		}
		e, _ := o.lookup(c.Path)
		data, err := o.content(e)
		if err != nil {
			return Delta{}, fmt.Errorf("%s: %w", c.Path, err)
		}
		d.Changes[i].Data = data
	}
	return d, nil
}

// both returns the manifests of what may differ between before and o, two overlays of one template.
func (o *Overlay) both(before *Overlay) (was, is Manifest) {
	paths := slices.Collect(maps.Keys(o.changed))
	paths = slices.AppendSeq(paths, maps.Keys(before.changed))
	slices.Sort(paths)
	for _, p := range slices.Compact(paths) {
		if e, ok := before.lookup(p); ok {
			was.Entries = append(was.Entries, e)
		}
		if e, ok := o.lookup(p); ok {
			is.Entries = append(is.Entries, e)
		}
	}
	return was, is
}

// Diff compares the overlay with what it was before, as [Baseline.Diff] does. Known is false if git ignores something
// that was added: then a directory has to be read.
func (o *Overlay) Diff(ctx context.Context, before *Overlay, x *Exclusion) (d Diff, known bool, err error) {
	was, is := o.both(before)
	for _, e := range is.Entries {
		if _, tracked := was.Lookup(e.Path); tracked {
			continue
		}
		if ignored, err := o.ignores(e); ignored || err != nil {
			return Diff{}, false, err
		}
		if x != nil && e.Kind == Dir && x.skips(e.Path) {
			return Diff{}, false, nil
		}
	}
	b := Baseline{manifest: was, exclusion: x}
	d, err = b.compare(ctx, is, before.content, o.content)
	return d, true, err
}

// Shown reports whether git ignores nothing in the overlay, so that its manifest is that of a [Snapshot].
func (o *Overlay) Shown() (bool, error) {
	t := o.template
	t.shownOnce.Do(func() { t.shown, t.shownErr = (&Overlay{template: t}).showsAll(t.base.Entries) })
	if !t.shown || t.shownErr != nil {
		return false, t.shownErr
	}
	var changed []Entry
	for p, l := range o.changed {
		if path.Base(p) == ignoreFile {
			return o.showsAll(o.Manifest().Entries)
		}
		if l.Kind != "" {
			changed = append(changed, l.Entry)
		}
	}
	return o.showsAll(changed)
}

func (o *Overlay) showsAll(entries []Entry) (bool, error) {
	for _, e := range entries {
		if ignored, err := o.ignores(e); ignored || err != nil {
			return false, err
		}
	}
	return true, nil
}

// ignores reports whether git ignores what was added.
func (o *Overlay) ignores(e Entry) (bool, error) {
	var rules *ignore
	parts := strings.Split(e.Path, "/")
	for i := range parts {
		dir := path.Join(append([]string{"."}, parts[:i]...)...)
		if file, ok := o.lookup(join(dir, ignoreFile)); ok && file.Kind == File {
			if file.Size > maxIgnoreFile {
				return true, nil
			}
			text, err := o.content(file)
			if err != nil {
				return false, err
			}
			rules = &ignore{above: rules, dir: dir, rules: parseIgnore(string(text))}
		}
		p := strings.Join(parts[:i+1], "/")
		if rules.matches(p, i+1 < len(parts) || e.Kind == Dir) {
			return true, nil
		}
	}
	return false, nil
}

// Write makes a directory of the overlay, in dst, which is empty or does not exist.
func (o *Overlay) Write(ctx context.Context, dst string) error {
	m, _, err := o.template.Prepare(ctx, dst, nil)
	if err != nil {
		return err
	}
	for _, e := range o.template.base.Entries {
		if now, _ := m.Lookup(e.Path); now != e {
			return fmt.Errorf("%s in %s has changed since it was read", e.Path, o.template.src.Dir)
		}
	}
	d, err := o.Delta()
	if err == nil {
		err = d.Apply(dst)
	}
	return err
}

// lookup returns what is at a path.
func (o *Overlay) lookup(p string) (Entry, bool) {
	if l, ok := o.changed[p]; ok {
		return l.Entry, l.Kind != ""
	}
	return o.template.base.Lookup(p)
}

// content returns what is in a file, which must be in the overlay.
func (o *Overlay) content(e Entry) ([]byte, error) {
	if l, ok := o.changed[e.Path]; ok && l.data != nil {
		return l.data, nil
	}
	return Baseline{template: o.template}.read(e)
}

// errEscapes is what [os.Root] says of a path that leads out of it.
var errEscapes = errors.New("path escapes from parent")

// maxName is how long a part of a path can be on most systems, in bytes.
const maxName = 255

// maxLinks is how many links are followed, as by [os.Root].
const maxLinks = 8

// resolve follows the links of a path, the last one only if follow is set, and returns what is there.
func (o *Overlay) resolve(name string, follow bool) (Entry, error) {
	if !fs.ValidPath(name) {
		return Entry{}, fs.ErrInvalid
	}
	at, links := Entry{Path: ".", Kind: Dir}, 0
	for rest := strings.Split(name, "/"); len(rest) > 0; {
		part := rest[0]
		rest = rest[1:]
		switch {
		case at.Kind != Dir:
			return Entry{}, syscall.ENOTDIR
		case part == "" || part == ".":
			continue
		case len(part) > maxName:
			return Entry{}, syscall.ENAMETOOLONG
		case part == ".." && at.Path == ".":
			return Entry{}, errEscapes
		case part == "..":
			at.Path = path.Dir(at.Path)
			continue
		}
		e, ok := o.lookup(join(at.Path, part))
		switch {
		case !ok:
			return Entry{}, syscall.ENOENT
		case e.Kind != Symlink || len(rest) == 0 && !follow:
			at = e
			continue
		}
		if links++; links > maxLinks {
			return Entry{}, syscall.ELOOP
		}
		rest = append(strings.Split(e.Target, "/"), rest...)
	}
	return at, nil
}

// editable is an overlay that is being changed, as an editor sees it.
type editable struct{ o *Overlay }

func (w editable) Lstat(p string) (fs.FileInfo, error) { return w.o.Lstat(p) }

// put adds what is not there, in a directory that is.
func (w editable) put(op string, l layer) error {
	if _, ok := w.o.lookup(l.Path); ok {
		return &fs.PathError{Op: op, Path: l.Path, Err: fs.ErrExist}
	}
	w.o.changed[l.Path] = l
	return nil
}

func (w editable) Mkdir(p string, _ os.FileMode) error {
	return w.put("mkdirat", layer{Entry: Entry{Path: p, Kind: Dir}})
}

func (w editable) Symlink(target, p string) error {
	return w.put("symlinkat", layer{Entry: Entry{Path: p, Kind: Symlink, Target: target}})
}

func (w editable) write(p string, data []byte, exec bool) error {
	if data == nil {
		data = []byte{}
	}
	e := Entry{Path: p, Kind: File, Exec: exec, Size: int64(len(data)), Digest: digest(data)}
	return w.put("openat", layer{e, data})
}

func (w editable) Chmod(p string, mode os.FileMode) error {
	e, _ := w.o.lookup(p)
	e.Exec = mode&0o100 != 0
	l := w.o.changed[p]
	l.Entry = e
	w.o.changed[p] = l
	return nil
}

func (w editable) Remove(p string) error {
	w.o.changed[p] = layer{Entry: Entry{Path: p}}
	return nil
}

func (w editable) RemoveAll(p string) error {
	_ = w.Remove(p)
	for _, e := range w.o.below(p) {
		_ = w.Remove(e.Path)
	}
	return nil
}

// below returns all that is below a directory, sorted by path.
func (o *Overlay) below(dir string) []Entry {
	prefix := dir + "/"
	if dir == "." {
		prefix = ""
	}
	base := o.template.base
	from, _ := base.search(prefix)
	var all []Entry
	for _, e := range base.Entries[from:] {
		if !strings.HasPrefix(e.Path, prefix) {
			break
		}
		if _, ok := o.changed[e.Path]; !ok {
			all = append(all, e)
		}
	}
	for p, l := range o.changed {
		if l.Kind != "" && strings.HasPrefix(p, prefix) {
			all = append(all, l.Entry)
		}
	}
	return manifestOf(all).Entries
}

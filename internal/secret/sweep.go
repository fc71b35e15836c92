package secret

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// Finding is a secret that a sweep has found.
type Finding struct {
	// Path is the file's masked path below the directory, with slashes.
	Path string
	// Offset is where the secret begins, in bytes, or -1 if it is in the file's name or in the target of a link.
	Offset int64
	// Name is the secret's name.
	Name string
}

func (f Finding) String() string {
	if f.Offset < 0 {
		return fmt.Sprintf("%s: its name contains %s", f.Path, f.Name)
	}
	return fmt.Sprintf("%s: %s at offset %d", f.Path, f.Name, f.Offset)
}

const (
	// maxFindings is how many findings, and how many errors, a sweep reports at most.
	maxFindings = 1000
	// maxDepth is how many directories may be within each other: each is open while those in it are searched.
	maxDepth = 500
	// maxEntries is how many entries a directory may have.
	maxEntries = 1_000_000
	// maxShown is how much of a path is shown, in bytes.
	maxShown = 1000
)

var (
	errManyFindings = fmt.Errorf("found more than the %d places that are reported", maxFindings)
	errDeep         = fmt.Errorf("more than %d directories within each other", maxDepth)
	errManyEntries  = fmt.Errorf("a directory with more than %d entries", maxEntries)
)

// ErrCutOff is the error of a sweep, among others, that ended before it was through: nothing is known about the rest.
var ErrCutOff = errors.New("the search did not come to its end")

// UnsearchedError says what could not be searched, and why. A sweep that masks secrets has removed it.
type UnsearchedError struct {
	Errs    []error // with masked paths
	Removed bool
}

func (e *UnsearchedError) Error() string {
	what := "could not be searched"
	if e.Removed {
		what += " and was removed"
	}
	return what + ": " + strings.ReplaceAll(errors.Join(e.Errs...).Error(), "\n", "; ")
}

// Unwrap returns the errors.
func (e *UnsearchedError) Unwrap() []error { return e.Errs }

// Sweep searches everything below dir for secrets: the content of regular files, and all names and targets of links.
// It does not follow links, and does not report text that merely looks like a key. What its owner may not read is made
// readable. Of each secret it reports the first place in a file, in the order of the paths. An error means that
// something could not be searched, an [*UnsearchedError] or [ErrCutOff], or that there are more findings than it
// reports; the findings are valid in any case.
func (s *Set) Sweep(ctx context.Context, dir string) ([]Finding, error) {
	w := sweep{set: s}
	if err := w.run(ctx, dir); err != nil {
		return w.findings, fmt.Errorf("search %s for secrets: %w", s.String(dir), err)
	}
	return w.findings, nil
}

// Look is what else a Scrub is told and tells.
type Look struct {
	// Known are directories, as paths with slashes from the one that is searched, in which it does not look: somebody
	// has done so, and nobody can have changed them since.
	Known map[string]bool
	// File, unless it is nil, is called with most of the files in which there is nothing to mask: those that are not
	// large. The content is valid until it returns.
	File func(path string, info fs.FileInfo, content []byte)
	// Keys is set if there is what looks like a key.
	Keys bool
}

// Scrub is a Sweep that makes a tree fit to be kept: it masks the secrets in files, names and targets of links, removes
// what it cannot search, and takes the setuid and setgid bits away. It replaces files and does not write to them, so
// that other links to them keep their content. It does so, but for secrets, if there are none to search for. Look may
// be nil.
func (s *Set) Scrub(ctx context.Context, dir string, look *Look) ([]Finding, error) {
	w := sweep{set: s, scrub: true, look: look}
	if err := w.run(ctx, dir); err != nil {
		return w.findings, fmt.Errorf("mask the secrets in %s: %w", s.String(dir), err)
	}
	return w.findings, nil
}

// ScrubKeys is a Scrub that also masks what looks like a key.
func (s *Set) ScrubKeys(ctx context.Context, dir string) ([]Finding, error) {
	w := sweep{set: s, scrub: true, keys: true}
	if err := w.run(ctx, dir); err != nil {
		return w.findings, fmt.Errorf("mask the keys in %s: %w", s.String(dir), err)
	}
	return w.findings, nil
}

// sweep goes once through a directory. It holds every directory above the one that it searches open: names alone, which
// are never longer than a system takes, lead it on.
type sweep struct {
	set      *Set
	m        *matcher // nil: there is nothing to search for
	scrub    bool
	keys     bool // what looks like a key is a secret
	look     *Look
	buf      []byte
	findings []Finding
	errs     []error // what could not be searched
	more     bool    // findings than are reported
	left     bool    // something is there that could be neither searched nor removed
}

func (w *sweep) run(ctx context.Context, dir string) error {
	if w.look == nil {
		w.look = new(Look)
	}
	if w.m = w.set.matcher(); w.m == nil && !w.scrub {
		return nil
	}
	if err := w.whole(ctx, dir); err != nil {
		return fmt.Errorf("%w: %w", ErrCutOff, bare(err))
	}
	var errs []error
	if ctx.Err() != nil {
		errs = append(errs, fmt.Errorf("%w: %w", ErrCutOff, context.Cause(ctx)))
	}
	if w.left {
		errs = append(errs, fmt.Errorf("%w: not all could be removed that could not be searched", ErrCutOff))
	}
	if w.more {
		errs = append(errs, errManyFindings)
	}
	if len(w.errs) > 0 {
		errs = append(errs, &UnsearchedError{w.errs, w.scrub})
	}
	return errors.Join(errs...)
}

// whole searches the first directory, which may be named by a link.
func (w *sweep) whole(ctx context.Context, dir string) error {
	info, err := os.Stat(dir)
	if err == nil {
		err = w.open(info, 0o700, func(mode fs.FileMode) error { return os.Chmod(dir, mode) })
	}
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	return w.dir(ctx, root, ".", 0)
}

// place is an entry of an open directory.
type place struct {
	in   *os.Root
	name string // in the directory
	path string // below the first directory
}

// dir searches the entries of a directory, in the order of their names. An error means that it cannot.
func (w *sweep) dir(ctx context.Context, in *os.Root, path string, depth int) error {
	if depth > maxDepth {
		return errDeep
	}
	entries, err := list(in)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if ctx.Err() != nil {
			return nil
		}
		p := place{in, e.Name(), filepath.Join(path, e.Name())}
		if err := w.entry(ctx, p, e, depth); err != nil && ctx.Err() == nil {
			w.unsearched(p, err)
		}
	}
	return nil
}

// list returns the entries of a directory, sorted by name.
func list(dir *os.Root) ([]fs.DirEntry, error) {
	entries, err := disk.List(dir, ".", maxEntries+1)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return nil, err
	case len(entries) > maxEntries:
		return nil, errManyEntries
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// unsearched removes what could not be searched or masked from a tree that is kept, and notes why.
func (w *sweep) unsearched(p place, err error) {
	err = bare(err)
	if w.scrub {
		if left := disk.RemoveAllIn(p.in, p.name); left != nil {
			w.left = true
			err = fmt.Errorf("%w; and it could not be removed: %w", err, bare(left))
		}
	}
	if len(w.errs) < maxFindings {
		w.errs = append(w.errs, fmt.Errorf("%s: %w", w.shown(p.path), err))
	}
}

// shown is a path for people, without secrets.
func (w *sweep) shown(path string) string {
	path = w.set.String(filepath.ToSlash(path))
	if len(path) > maxShown {
		path = path[:maxShown/2] + "..." + path[len(path)-maxShown/2:]
	}
	return strings.ToValidUTF8(path, "?")
}

// found records a finding.
func (w *sweep) found(p place, offset int64, secret string) {
	if w.more = w.more || len(w.findings) == maxFindings; !w.more {
		w.findings = append(w.findings, Finding{w.shown(p.path), offset, secret})
	}
}

func (w *sweep) entry(ctx context.Context, p place, entry fs.DirEntry, depth int) error {
	named := w.text(p, p.name)
	var err error
	switch {
	case entry.IsDir():
		err = w.below(ctx, p, depth)
	case entry.Type()&fs.ModeSymlink != 0:
		var target string
		target, err = p.in.Readlink(p.name)
		if err == nil && w.text(p, target) && w.scrub {
			err = w.relink(p, target)
		}
	case entry.Type().IsRegular():
		var found bool
		found, err = w.file(ctx, p)
		if err == nil && found && w.scrub {
			err = w.rewrite(ctx, p)
		}
	}
	if err == nil && named && w.scrub {
		err = w.rename(p)
	}
	return err
}

// below searches a directory.
func (w *sweep) below(ctx context.Context, p place, depth int) error {
	if w.look.Known[filepath.ToSlash(p.path)] {
		return nil
	}
	if err := w.openAt(p, 0o700); err != nil {
		return err
	}
	dir, err := p.in.OpenRoot(p.name)
	if err != nil {
		return err
	}
	defer dir.Close()
	return w.dir(ctx, dir, p.path, depth+1)
}

// openAt is open for an entry.
func (w *sweep) openAt(p place, rights fs.FileMode) error {
	info, err := p.in.Lstat(p.name)
	if err != nil {
		return err
	}
	return w.open(info, rights, func(mode fs.FileMode) error { return p.in.Chmod(p.name, mode) })
}

// open gives the owner rights to a file or directory, and takes its setuid and setgid bits if it is kept.
func (w *sweep) open(info fs.FileInfo, rights fs.FileMode, chmod func(fs.FileMode) error) error {
	if mode := info.Mode(); mode&rights != rights || w.scrub && mode&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		return chmod(mode.Perm() | rights)
	}
	return nil
}

// text searches the name or the target of an entry.
func (w *sweep) text(p place, text string) (found bool) {
	if w.m == nil {
		return false
	}
	for _, r := range w.runs(w.m.scan([]byte(text), 0, true)) {
		w.found(p, -1, r.name)
		found = true
	}
	return found
}

// runs are the secrets of a result, and its keys if these are secrets, too.
func (w *sweep) runs(r result) []run {
	w.look.Keys = w.look.Keys || len(r.keys) > 0
	if w.keys {
		for _, k := range r.keys {
			r.runs = append(r.runs, run{start: k.start, name: keyName})
		}
	}
	return r.runs
}

// openFile opens a regular file. It does not block if the file has become a FIFO.
func (w *sweep) openFile(p place) (*os.File, fs.FileInfo, error) {
	f, err := p.in.OpenFile(p.name, os.O_RDONLY|disk.Nonblock, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errors.New("is no longer a regular file")
	}
	if err != nil {
		f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// file reports the first place of each secret in a file.
func (w *sweep) file(ctx context.Context, p place) (found bool, err error) {
	if w.m == nil {
		return false, w.openAt(p, 0o400)
	}
	f, info, err := w.openFile(p)
	if errors.Is(err, fs.ErrPermission) {
		if err := w.openAt(p, 0o400); err != nil {
			return false, err
		}
		f, info, err = w.openFile(p)
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	if err := w.open(info, 0o400, f.Chmod); err != nil {
		return false, err
	}
	known := make(map[string]bool)
	if content, err := w.content(f, info); err != nil {
		return false, err
	} else if content != nil {
		w.report(p, w.m.scan(content, 0, true), 0, known)
		if len(known) == 0 && w.look.File != nil {
			w.look.File(filepath.ToSlash(p.path), info, content)
		}
		return len(known) > 0, nil
	}
	err = eachPart(f, info, func(r io.Reader, start int64) error {
		room := int(min(info.Size()-start+1, pieceSize))
		return w.part(p, &cutOff{ctx, r}, start, room, known)
	})
	return len(known) > 0, err
}

// content returns what is in a small file, as most are; nil: it is large.
func (w *sweep) content(f *os.File, info fs.FileInfo) ([]byte, error) {
	size := int(min(info.Size(), pieceSize))
	w.buf = slices.Grow(w.buf[:0], size+1)
	n, err := io.ReadFull(f, w.buf[:size+1])
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return w.buf[:n:n], nil
	case err != nil:
		return nil, err
	}
	_, err = f.Seek(0, io.SeekStart)
	return nil, err
}

// report reports the first place of each secret that is not known to be in a file. The result is that of the file from
// base on.
func (w *sweep) report(p place, r result, base int64, known map[string]bool) {
	for _, run := range w.runs(r) {
		if run.start < r.settled && !known[run.name] {
			known[run.name] = true
			w.found(p, base+int64(run.start), run.name)
		}
	}
}

// eachPart calls do with the parts of a file between its holes, and where they begin.
func eachPart(f *os.File, info fs.FileInfo, do func(r io.Reader, start int64) error) error {
	if info.Size() <= pieceSize {
		return do(f, 0)
	}
	for from := int64(0); ; {
		start, end, err := disk.NextData(f, from)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := do(io.NewSectionReader(f, start, end-start), start); err != nil {
			return err
		}
		from = end
	}
}

// cutOff is a reader that ends with a context.
type cutOff struct {
	ctx context.Context
	r   io.Reader
}

func (c *cutOff) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	return c.r.Read(p)
}

// part searches a part of a file that begins at an offset, room bytes at a time, and adds to the secrets that are known
// to be in the file.
func (w *sweep) part(p place, in io.Reader, base int64, room int, known map[string]bool) error {
	buf, from := w.buf[:0], 0 // buf is the file from base on, which has been searched up to from
	defer func() { w.buf = buf }()
	for {
		buf = slices.Grow(buf, room)
		n, err := in.Read(buf[len(buf) : len(buf)+room])
		buf = buf[:len(buf)+n]
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		r := w.m.scan(buf, from, err != nil)
		w.report(p, r, base, known)
		if err != nil {
			return nil
		}
		keep := max(0, r.settled-contextSize)
		base += int64(keep)
		from = r.settled - keep
		buf = append(buf[:0], buf[keep:]...)
	}
}

// rewrite masks the content of a file.
func (w *sweep) rewrite(ctx context.Context, p place) error {
	from, info, err := w.openFile(p)
	if err != nil {
		return err
	}
	defer from.Close()
	temp, err := free(p.in, ".scrub")
	if err != nil {
		return err
	}
	to, err := p.in.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(w.mask(ctx, from, to, info), to.Chmod(info.Mode().Perm()), to.Sync(), to.Close())
	if err == nil {
		err = p.in.Rename(temp, p.name)
	}
	if err != nil {
		return errors.Join(err, p.in.Remove(temp))
	}
	return nil
}

// mask copies a file masked, with its holes.
func (w *sweep) mask(ctx context.Context, from, to *os.File, info fs.FileInfo) error {
	shift := int64(0) // by which offsets in to are larger
	err := eachPart(from, info, func(r io.Reader, start int64) error {
		if _, err := to.Seek(start+shift, io.SeekStart); err != nil {
			return err
		}
		masked := w.set.Writer(to)
		n, err := io.Copy(masked, &cutOff{ctx, r})
		if err = errors.Join(err, masked.Close()); err != nil {
			return err
		}
		now, err := to.Seek(0, io.SeekCurrent)
		shift = now - start - n
		return err
	})
	if err != nil {
		return err
	}
	return to.Truncate(info.Size() + shift)
}

// relink masks the target of a link.
func (w *sweep) relink(p place, target string) error {
	temp, err := free(p.in, ".scrub")
	if err != nil {
		return err
	}
	if err := p.in.Symlink(w.set.String(target), temp); err != nil {
		return err
	}
	if err := p.in.Rename(temp, p.name); err != nil {
		return errors.Join(err, p.in.Remove(temp))
	}
	return nil
}

// rename masks the name of an entry.
func (w *sweep) rename(p place) error {
	to, err := free(p.in, w.set.String(p.name))
	if err != nil {
		return err
	}
	return p.in.Rename(p.name, to)
}

// free returns a name that does not exist in a directory: this one, or with a number.
func free(in *os.Root, name string) (string, error) {
	for n, as := 2, name; ; n++ {
		_, err := in.Lstat(as)
		if errors.Is(err, fs.ErrNotExist) {
			return as, nil
		}
		if err != nil {
			return "", err
		}
		as = fmt.Sprintf("%s-%d", name, n)
	}
}

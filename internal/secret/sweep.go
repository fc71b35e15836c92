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

// maxFindings is how many findings, and how many errors, a sweep reports at most.
const maxFindings = 1000

var errManyFindings = fmt.Errorf("found more than the %d places that are reported", maxFindings)

// Sweep searches everything below dir for secrets: the content of regular files, and all names and targets of links.
// It does not follow links, and does not report text that merely looks like a key. Of each secret it reports the first
// place in a file, in the order of the paths. An error means that something could not be searched, or that there are
// more findings than it reports; the findings are valid in any case.
func (s *Set) Sweep(ctx context.Context, dir string) ([]Finding, error) {
	w := sweep{set: s}
	if err := w.run(ctx, dir); err != nil {
		return w.findings, fmt.Errorf("search %s for secrets: %w", s.String(dir), err)
	}
	return w.findings, nil
}

// Scrub is a Sweep that masks the secrets in files, names and targets of links. It replaces files and does not write to
// them, so that other links to them keep their content.
func (s *Set) Scrub(ctx context.Context, dir string) ([]Finding, error) {
	w := sweep{set: s, scrub: true}
	if err := w.run(ctx, dir); err != nil {
		return w.findings, fmt.Errorf("mask the secrets in %s: %w", s.String(dir), err)
	}
	return w.findings, nil
}

// sweep goes once through a directory.
type sweep struct {
	set      *Set
	m        *matcher
	scrub    bool
	root     *os.Root
	at       *os.Root // the directory of the last file: opening it again would take a call for each part of its path
	name     string   // the name of at
	buf      []byte
	findings []Finding
	errs     []error
	renames  []string // entries with a secret in their names, a directory before its entries
}

func (w *sweep) run(ctx context.Context, dir string) error {
	if w.m = w.set.matcher(); w.m == nil {
		return nil
	}
	var err error
	if w.root, err = os.OpenRoot(dir); err != nil {
		return bare(err)
	}
	defer w.root.Close()
	w.dir(ctx, ".")
	w.leave()
	for _, name := range slices.Backward(w.renames) {
		w.note(name, w.rename(name))
	}
	return errors.Join(append(w.errs, ctx.Err())...)
}

// dir searches the entries of a directory, in the order of their names.
func (w *sweep) dir(ctx context.Context, name string) {
	// A Root's ReadDir would look at each entry twice.
	entries, err := os.ReadDir(filepath.Join(w.root.Name(), name))
	w.note(name, err)
	for _, e := range entries {
		if ctx.Err() != nil {
			return
		}
		path := filepath.Join(name, e.Name())
		w.note(path, w.entry(ctx, path, e))
		if e.IsDir() {
			w.dir(ctx, path)
		}
	}
}

// note records an error about an entry.
func (w *sweep) note(name string, err error) {
	if err != nil && len(w.errs) < maxFindings {
		w.errs = append(w.errs, fmt.Errorf("%s: %w", w.set.String(filepath.ToSlash(name)), bare(err)))
	}
}

// found records a finding.
func (w *sweep) found(name string, offset int64, secret string) {
	switch len(w.findings) {
	case maxFindings:
		if !slices.Contains(w.errs, errManyFindings) {
			w.errs = append(w.errs, errManyFindings)
		}
	default:
		w.findings = append(w.findings, Finding{w.set.String(filepath.ToSlash(name)), offset, secret})
	}
}

func (w *sweep) entry(ctx context.Context, name string, entry fs.DirEntry) error {
	if w.text(name, entry.Name()) && w.scrub {
		w.renames = append(w.renames, name)
	}
	switch {
	case entry.Type()&fs.ModeSymlink != 0:
		target, err := w.root.Readlink(name)
		if err == nil && w.text(name, target) && w.scrub {
			err = w.relink(name, target)
		}
		return err
	case entry.Type().IsRegular():
		found, err := w.file(ctx, name)
		if err == nil && found && w.scrub {
			err = w.rewrite(name)
		}
		return err
	}
	return nil
}

// text searches the name or the target of an entry.
func (w *sweep) text(name, text string) (found bool) {
	for _, r := range w.m.scan([]byte(text), 0, true).runs {
		w.found(name, -1, r.name)
		found = true
	}
	return found
}

// enter makes a directory the one that at is.
func (w *sweep) enter(name string) (err error) {
	if w.at != nil && w.name == name {
		return nil
	}
	w.leave()
	w.name = name
	if name == "." {
		w.at = w.root
		return nil
	}
	w.at, err = w.root.OpenRoot(name)
	return err
}

func (w *sweep) leave() {
	if w.at != nil && w.at != w.root {
		w.at.Close()
	}
	w.at = nil
}

// open opens a regular file. It does not block if the file has become a FIFO.
func (w *sweep) open(name string) (*os.File, fs.FileInfo, error) {
	if err := w.enter(filepath.Dir(name)); err != nil {
		return nil, nil, err
	}
	f, err := w.at.OpenFile(filepath.Base(name), os.O_RDONLY|disk.Nonblock, 0)
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
func (w *sweep) file(ctx context.Context, name string) (found bool, err error) {
	f, info, err := w.open(name)
	if err != nil {
		return false, err
	}
	defer f.Close()
	known := make(map[string]bool)
	room := int(min(info.Size()+1, pieceSize)) // most files are small
	// buf is the file from base on, which has been searched up to from.
	buf, base, from := w.buf[:0], int64(0), 0
	for ctx.Err() == nil {
		buf = slices.Grow(buf, room)
		n, err := f.Read(buf[len(buf) : len(buf)+room])
		buf = buf[:len(buf)+n]
		if err != nil && !errors.Is(err, io.EOF) {
			return len(known) > 0, err
		}
		r := w.m.scan(buf, from, err != nil)
		for _, run := range r.runs {
			if run.start < r.settled && !known[run.name] {
				known[run.name] = true
				w.found(name, base+int64(run.start), run.name)
			}
		}
		if err != nil {
			break
		}
		keep := max(0, r.settled-contextSize)
		base += int64(keep)
		from = r.settled - keep
		buf = append(buf[:0], buf[keep:]...)
	}
	w.buf = buf
	return len(known) > 0, nil
}

// rewrite masks the content of a file.
func (w *sweep) rewrite(name string) error {
	from, info, err := w.open(name)
	if err != nil {
		return err
	}
	defer from.Close()
	temp, err := w.free(filepath.Dir(name), ".scrub")
	if err != nil {
		return err
	}
	to, err := w.root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	masked := w.set.Writer(to)
	_, err = io.Copy(masked, from)
	err = errors.Join(err, masked.Close(), to.Chmod(info.Mode().Perm()), to.Sync(), to.Close())
	if err == nil {
		err = w.root.Rename(temp, name)
	}
	if err != nil {
		return errors.Join(err, w.root.Remove(temp))
	}
	return nil
}

// relink masks the target of a link.
func (w *sweep) relink(name, target string) error {
	temp, err := w.free(filepath.Dir(name), ".scrub")
	if err != nil {
		return err
	}
	if err := w.root.Symlink(w.set.String(target), temp); err != nil {
		return err
	}
	if err := w.root.Rename(temp, name); err != nil {
		return errors.Join(err, w.root.Remove(temp))
	}
	return nil
}

// rename masks the name of an entry.
func (w *sweep) rename(name string) error {
	to, err := w.free(filepath.Dir(name), w.set.String(filepath.Base(name)))
	if err != nil {
		return err
	}
	return w.root.Rename(name, to)
}

// free returns a path in dir that does not exist: with the name, or with the name and a number.
func (w *sweep) free(dir, name string) (string, error) {
	path := filepath.Join(dir, name)
	for n := 2; ; n++ {
		_, err := w.root.Lstat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return path, nil
		}
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, fmt.Sprintf("%s-%d", name, n))
	}
}

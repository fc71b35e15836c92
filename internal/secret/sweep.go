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
	"syscall"
)

// Finding is a secret that a sweep has found.
type Finding struct {
	// Path is the file below the directory, with slashes and itself masked.
	Path string
	// Offset is where the secret begins, in bytes; -1: it is in the file's name or in the target of a link.
	Offset int64
	// Name is the secret's name.
	Name string
}

func (f Finding) String() string {
	if f.Offset < 0 {
		return fmt.Sprintf("%s: its name holds %s", f.Path, f.Name)
	}
	return fmt.Sprintf("%s: %s at offset %d", f.Path, f.Name, f.Offset)
}

// maxFindings bounds what a sweep reports, findings and errors each.
const maxFindings = 1000

var errManyFindings = errors.New("more was found than is reported")

// Sweep searches everything below dir for the secrets: the content of regular files, and all names and targets of links;
// links are not followed. What merely has the shape of a key is not reported. Of each secret it reports the first place in
// a file, in the order of the paths. An error says that something could not be searched, or that too much was found; the
// findings are right all the same.
func (s *Set) Sweep(ctx context.Context, dir string) ([]Finding, error) {
	m := s.matcher()
	if m == nil {
		return nil, nil
	}
	w := sweep{m: m, buf: make([]byte, 0, 2*pieceSize)}
	err := w.run(ctx, dir)
	if err != nil {
		return w.findings, fmt.Errorf("search %s for secrets: %w", s.String(dir), err)
	}
	return w.findings, nil
}

type sweep struct {
	m        *matcher
	root     *os.Root
	buf      []byte
	findings []Finding
	errs     []error
}

func (w *sweep) run(ctx context.Context, dir string) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	if w.root, err = os.OpenRoot(dir); err != nil {
		return err
	}
	defer w.root.Close()
	err = filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(dir, path) // path begins with dir
		masked, _ := w.m.mask([]byte(filepath.ToSlash(name)))
		if err == nil && path != dir {
			err = w.entry(ctx, name, string(masked), entry)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			w.errs = append(w.errs, fmt.Errorf("%s: %w", masked, bare(err)))
		}
		if len(w.findings) >= maxFindings || len(w.errs) >= maxFindings {
			return errManyFindings
		}
		return nil
	})
	return errors.Join(append(w.errs, err)...)
}

// entry searches one entry, masked being its name without secrets.
func (w *sweep) entry(ctx context.Context, name, masked string, entry fs.DirEntry) error {
	found := func(secret string, offset int64) {
		w.findings = append(w.findings, Finding{Path: masked, Offset: offset, Name: secret})
	}
	inName := func(text string) {
		for _, r := range w.m.scan([]byte(text), 0, true).runs {
			found(r.name, -1)
		}
	}
	inName(entry.Name())
	switch {
	case entry.Type()&fs.ModeSymlink != 0:
		target, err := w.root.Readlink(name)
		inName(target)
		return err
	case entry.Type().IsRegular():
		return w.file(ctx, name, found)
	}
	return nil
}

// bare returns an error without the path, which may hold a secret.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// file reports the first place of each secret in a file.
func (w *sweep) file(ctx context.Context, name string, found func(secret string, offset int64)) error {
	f, err := w.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // if it has become a FIFO it must not hang us
	if err != nil {
		return err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return errors.Join(err, errors.New("no longer a regular file"))
	}
	known := make(map[string]bool)
	held, base, from := w.buf[:0], int64(0), 0 // held is the file from base on, and what is before held[from] has been searched
	for ctx.Err() == nil {
		held = slices.Grow(held, pieceSize)
		n, err := f.Read(held[len(held):cap(held)])
		held = held[:len(held)+n]
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		r := w.m.scan(held, from, err != nil)
		for _, run := range r.runs {
			if run.start < r.settled && !known[run.name] {
				known[run.name] = true
				found(run.name, base+int64(run.start))
			}
		}
		if err != nil {
			return nil
		}
		keep := max(0, r.settled-contextSize)
		base += int64(keep)
		from = r.settled - keep
		held = append(held[:0], held[keep:]...)
	}
	return ctx.Err()
}

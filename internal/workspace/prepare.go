package workspace

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Source says what is copied into a workspace.
type Source struct {
	// Dir is the directory to copy; empty: nothing is copied.
	Dir string
	// Commit is the full name of a commit of the repository whose work tree Dir would be in: what it has there is
	// copied, not what is on disk. Empty: the directory is.
	Commit string
	// Git says which files are copied if Dir is in a git repository.
	Git Git
	// Include has globs, relative to Dir, for paths that are left out by default: directories such as node_modules and
	// files that look like secrets. A glob must name them; "**" alone does not.
	Include []string
	// Exclude has globs, relative to Dir, for other paths to leave out. It takes precedence over Include.
	Exclude []string
	// Files maps paths to texts that are written after the copy. They may replace copied files.
	Files map[string]string
	// Search is called with the content of each file as it is read, unless that is long, by several goroutines. Nil
	// searches nothing. See [Template.Each].
	Search func(content []byte)
	// Hide returns why a file is not copied, by its path and how it begins; empty: it is. A template with it has no
	// directories of which nothing is copied. Nil hides nothing.
	Hide func(path string, head []byte) (reason string)
}

// Note says why a path of a source was not copied.
type Note struct {
	Path   string
	Reason string
}

var errNotRegular = errors.New("not a regular file, directory or symbolic link")

// Prepare makes a workspace from src in dst, a directory that is empty or does not exist. It returns the manifest of
// the workspace and a note for each path that was left out, sorted by path. After an error dst may contain a part.
func Prepare(ctx context.Context, src Source, dst string) (Manifest, []Note, error) {
	t, err := newTemplate(ctx, src)
	if err == nil && src.Commit != "" {
		err = t.load(ctx)
	}
	if err != nil {
		return Manifest{}, nil, fmt.Errorf("prepare workspace: %w", err)
	}
	return t.Prepare(ctx, dst, Seeds(src.Files))
}

// Prepare is like [Prepare] with the template's source and the given Files.
func (t *Template) Prepare(ctx context.Context, dst string, files map[string]Seed) (Manifest, []Note, error) {
	m, notes, err := t.prepare(ctx, dst, files)
	if err != nil {
		return Manifest{}, nil, fmt.Errorf("prepare workspace: %w", err)
	}
	return m, notes, nil
}

func (t *Template) prepare(ctx context.Context, dst string, seeds map[string]Seed) (Manifest, []Note, error) {
	if err := makeEmptyDir(dst); err != nil {
		return Manifest{}, nil, err
	}
	// Plain paths below dst are safe: it was empty, and no later path leads through a link made here.
	for _, e := range t.fixed {
		at, err := filepath.Join(dst, filepath.FromSlash(e.Path)), error(nil)
		if e.Kind == Dir {
			err = os.Mkdir(at, 0o755)
		} else {
			err = os.Symlink(filepath.FromSlash(e.Target), at)
		}
		if err != nil {
			return Manifest{}, nil, err
		}
	}
	files, err := t.copyFiles(ctx, dst)
	if err != nil {
		return Manifest{}, nil, err
	}
	m, notes := Manifest{Entries: slices.Clone(t.base.Entries)}, t.left
	if !t.inMemory { // what was read now may differ
		m, notes, _ = t.listed(files)
	}
	return m, notes, m.seed(dst, seeds)
}

// listed returns the manifest of a workspace with these files of the template, what is left out, and whether git's own
// directory is copied: that is not part of the workspace.
func (t *Template) listed(files []sourceFile) (m Manifest, notes []Note, ownGit bool) {
	entries, notes := slices.Clone(t.fixed), slices.Clone(t.notes)
	for _, f := range files {
		if f.skipped != "" {
			notes = append(notes, Note{Path: f.Path, Reason: f.skipped})
		} else {
			entries = append(entries, f.Entry)
		}
	}
	slices.SortFunc(notes, func(a, b Note) int { return strings.Compare(a.Path, b.Path) })
	all := len(entries)
	m = manifestOf(slices.DeleteFunc(entries, func(e Entry) bool { return inGit(e.Path) }))
	return m, notes, len(m.Entries) < all
}

// inGit reports whether p is a .git or below one.
func inGit(p string) bool { return strings.Contains("/"+p+"/", "/.git/") }

// makeEmptyDir makes dir unless it exists and is empty.
func makeEmptyDir(dir string) error {
	err := os.Mkdir(dir, 0o755)
	if !errors.Is(err, fs.ErrExist) {
		return err
	}
	present, err := os.ReadDir(dir)
	if err == nil && len(present) > 0 {
		err = fmt.Errorf("%s is not empty", dir)
	}
	return err
}

// copyFiles copies the template's files and returns them with their entries.
func (t *Template) copyFiles(ctx context.Context, dst string) ([]sourceFile, error) {
	if len(t.files) == 0 {
		return nil, nil
	}
	src := &tree{ctx: ctx}
	if !t.inMemory {
		var err error
		if src, err = openTree(ctx, t.src.Dir); err != nil {
			return nil, err
		}
		defer src.close()
	}
	to, err := openTree(ctx, dst)
	if err != nil {
		return nil, err
	}
	defer to.close()
	files := slices.Clone(t.files)
	return files, eachFile(files, func() (do func(*sourceFile) error, end func()) {
		from, to := src.beside(), to.beside()
		return func(f *sourceFile) error { return t.copyFile(from, to, f) }, func() { from.leave(); to.leave() }
	})
}

// eachFile does something with each file until there is an error, several at a time if there are many. Each goroutine
// begins with a call of begin and ends with what that returns.
func eachFile(files []sourceFile, begin func() (do func(*sourceFile) error, end func())) error {
	const batch = 64 // files, in few directories; with fewer, another goroutine costs more than it saves
	workers := min(runtime.GOMAXPROCS(0), len(files)/batch) + 1
	errs := make([]error, workers)
	var next atomic.Int64
	work := func(w int) {
		do, end := begin()
		defer end()
		for {
			to := int(next.Add(batch))
			if to-batch >= len(files) {
				return
			}
			for i := to - batch; i < min(to, len(files)); i++ {
				if errs[w] = do(&files[i]); errs[w] != nil {
					next.Store(int64(len(files)))
					return
				}
			}
		}
	}
	var wg sync.WaitGroup
	for w := range workers - 1 {
		wg.Go(func() { work(w) })
	}
	work(workers - 1)
	wg.Wait()
	return errors.Join(errs...)
}

// copyFile copies f from memory or from tr to another tree, and sets its entry.
func (t *Template) copyFile(tr, to *tree, f *sourceFile) error {
	if err := tr.ctx.Err(); err != nil || f.skipped != "" {
		return err
	}
	dst, err := to.enter(path.Dir(f.Path))
	if err != nil {
		return err
	}
	name := path.Base(f.Path)
	if f.held {
		return writeFile(dst.OpenFile, name, f.data, f.Exec)
	}
	in, reason, err := t.open(tr, f.Path)
	if err != nil || reason != "" {
		f.skipped = reason
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := dst.OpenFile(name, createNew, perm(in.exec()))
	if err != nil {
		return err
	}
	if f.settledIn(in) {
		err = copyOpened(tr.ctx, out, in)
	} else {
		f.Entry, err = tr.entry(in, out)
	}
	return errors.Join(err, out.Close())
}

// settledIn reports whether an open file has the content that it had when the template was loaded.
func (f *sourceFile) settledIn(in opened) bool {
	return !f.settled.IsZero() && f.settled.Equal(in.info.ModTime()) && f.Size == in.info.Size() && f.Exec == in.exec()
}

// copyOpened writes an open file to another. Where the file system can, both share the data.
func copyOpened(ctx context.Context, out *os.File, in opened) error {
	if int64(len(in.head)) == in.info.Size() {
		_, err := out.Write(in.head)
		return err
	}
	if _, err := in.Seek(0, io.SeekStart); err != nil {
		return err
	}
	const part = 64 << 20 // after which the context is looked at
	for left := in.info.Size(); left > 0; left -= part {
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := io.CopyN(out, in.File, min(left, part)); err != nil {
			return err
		}
	}
	return nil
}

// Seed is a file that is written into a prepared workspace. It is executable if the file that it replaces is.
type Seed struct {
	Data []byte
	Exec bool
}

// Seeds returns texts as seeds, by path.
func Seeds(texts map[string]string) map[string]Seed {
	seeds := make(map[string]Seed, len(texts))
	for p, text := range texts {
		seeds[p] = Seed{Data: []byte(text)}
	}
	return seeds
}

// HashSeeds writes to w what tells seeds from others: their paths, contents and rights to execute them.
func HashSeeds(w io.Writer, seeds map[string]Seed) {
	for _, p := range slices.Sorted(maps.Keys(seeds)) {
		fmt.Fprintf(w, "%s\x00%t\x00%x\n", p, seeds[p].Exec, sha256.Sum256(seeds[p].Data))
	}
}

// Stamp sets the modification time of all files of m, the manifest of the workspace dir. Otherwise agents that list
// files by time would list them in a different order each run.
func Stamp(dir string, m Manifest, when time.Time) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return fmt.Errorf("stamp workspace: %w", err)
	}
	defer func() { _ = root.Close() }()
	for _, e := range m.Entries {
		if e.Kind != File {
			continue
		}
		if err := root.Chtimes(filepath.FromSlash(e.Path), when, when); err != nil {
			return fmt.Errorf("stamp workspace: %w", err)
		}
	}
	return nil
}

// seed writes files into dst, the workspace with manifest m, and adds them to m.
func (m *Manifest) seed(dst string, files map[string]Seed) error {
	d, err := m.seeds(files)
	if err != nil {
		return err
	}
	if err := d.Apply(dst); err != nil {
		return fmt.Errorf("seed files: %w", err)
	}
	m.add(d)
	return nil
}

// seeds returns files as changes of m.
func (m *Manifest) seeds(files map[string]Seed) (Delta, error) {
	var d Delta
	for _, p := range slices.Sorted(maps.Keys(files)) {
		c := Change{Path: p, Op: Added, Kind: File, Data: files[p].Data, Exec: files[p].Exec}
		if old, ok := m.Lookup(p); ok {
			if old.Kind != File {
				return Delta{}, fmt.Errorf("seed file %s: in the source this path is a %s", p, old.Kind)
			}
			c.Op, c.Exec = Modified, old.Exec || c.Exec
		}
		d.Changes = append(d.Changes, c)
	}
	return d, nil
}

// add adds the written files of d to m.
func (m *Manifest) add(d Delta) {
	for _, c := range d.Changes {
		for dir := path.Dir(c.Path); dir != "."; dir = path.Dir(dir) {
			m.set(Entry{Path: dir, Kind: Dir})
		}
		m.set(Entry{Path: c.Path, Kind: File, Exec: c.Exec, Size: int64(len(c.Data)), Digest: digest(c.Data)})
	}
}

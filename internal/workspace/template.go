package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/git"
)

// maxInMemory is the largest size of a source, in bytes, that a template keeps in memory.
const maxInMemory = 8 << 20

// Template is a source from which many workspaces are made. It may be used by several goroutines.
type Template struct {
	src   Source
	rules rules
	fixed []Entry         // links and directories, each directory before its content
	bare  map[string]bool // directories that are empty in the source
	// committed is what the source's commit has, repository what git says of the source's directory; nil: nothing.
	committed  *commit
	repository *repository
	files      []sourceFile
	notes      []Note
	// loaded says that files have their entries, inMemory that they have their contents, too.
	loaded, inMemory bool
	// base is what an [Overlay] lies over, and byPath where in files a path is. OwnGit: git's own files are copied,
	// too.
	base   Manifest
	left   []Note // what is left out
	byPath map[string]int
	ownGit bool
	// digest is that of base.
	digestOnce sync.Once
	digest     string
	// shown is what [Overlay.Shown] says of it.
	shownOnce sync.Once
	shown     bool
	shownErr  error
}

type sourceFile struct {
	Entry // only the path, unless the template is loaded
	data  []byte
	// skipped is the reason for not copying the file, found in its content; empty: the file is copied.
	skipped string
	// settled is when the file was last modified, if that was long before it was read: as long as it is, and the file's
	// size, its content is the same. The zero value: it may be another.
	settled time.Time
	// searched: Source.Search was called with its content.
	searched bool
}

// Load reads src once for many workspaces. A source of at most 8 MiB is kept in memory, so that all workspaces are
// equal; of a larger one the digests are, and what has changed when it is copied is read again. In both cases this
// process has opened its files, so go test knows that the test depends on them. Load ignores src.Files: see
// [Template.Prepare].
func Load(ctx context.Context, src Source) (*Template, error) {
	t, err := newTemplate(ctx, src)
	if err == nil {
		err = t.load(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("load workspace source: %w", err)
	}
	return t, nil
}

// newTemplate decides what of src is copied.
func newTemplate(ctx context.Context, src Source) (*Template, error) {
	r, err := newRules(src.Include, src.Exclude)
	if err != nil {
		return nil, err
	}
	t := &Template{src: src, rules: r}
	if src.Dir == "" {
		return t, nil
	}
	t.bare = make(map[string]bool)
	p := planner{Template: t, dirs: map[string]bool{".": true}}
	if src.Commit != "" {
		if t.committed, err = openCommit(ctx, src.Dir, src.Commit); err != nil {
			return nil, err
		}
		p.tree = t.committed
	} else {
		tr, err := openTree(ctx, src.Dir)
		if err != nil {
			return nil, err
		}
		defer tr.close()
		p.tree, p.source = tr, tr
		if src.Git != All {
			if t.repository, err = openRepository(ctx, src); err != nil {
				return nil, err
			}
		}
	}
	top := within{}
	if t.repository != nil {
		top = t.repository.above
	}
	err = p.plan(".", top)
	for _, e := range t.fixed {
		t.rules.copied(e.Path)
	}
	for _, f := range t.files {
		t.rules.copied(f.Path)
	}
	return t, err
}

// Commit returns the commit of the template's source, empty: it is a directory.
func (t *Template) Commit() string { return t.src.Commit }

// Dir is the directory of the template's source.
func (t *Template) Dir() string { return t.src.Dir }

// LeftOut returns what of its source a loaded template leaves out, patterns of Source.Exclude apart, sorted by path.
func (t *Template) LeftOut() []Note { return t.left }

// Empty reports whether a loaded template copies neither a file nor a link.
func (t *Template) Empty() bool {
	return !t.ownGit && !slices.ContainsFunc(t.base.Entries, func(e Entry) bool { return e.Kind != Dir })
}

// Excludes reports whether a pattern of Source.Exclude leaves out anything.
func (t *Template) Excludes(pattern string) bool { return t.rules.excludes[cleanPattern(pattern)] }

// Includes reports whether a pattern of Source.Include matches anything that is copied.
func (t *Template) Includes(pattern string) bool { return t.rules.includes[cleanPattern(pattern)] }

// load reads all files, and keeps their contents unless they are too large together.
func (t *Template) load(ctx context.Context) error {
	defer t.index()
	if t.src.Dir == "" {
		t.loaded, t.inMemory = true, true
		return nil
	}
	if t.committed != nil {
		return t.loadCommit(ctx)
	}
	tr, err := openTree(ctx, t.src.Dir)
	if err != nil {
		return err
	}
	defer tr.close()
	r := reader{now: time.Now()}
	r.room.Store(maxInMemory)
	err = eachFile(t.files, func() (do func(*sourceFile) error, end func()) {
		tr := tr.beside()
		return func(f *sourceFile) error { return t.readFile(tr, f, &r) }, tr.leave
	})
	if err != nil {
		return err
	}
	if t.src.Hide != nil || t.repository != nil {
		t.prune()
	}
	if t.loaded, t.inMemory = true, r.room.Load() >= 0; !t.inMemory {
		for i := range t.files {
			t.files[i].data = nil
		}
	}
	return nil
}

// prune removes the directories of which nothing is copied: what is left out would show in them.
func (t *Template) prune() {
	has := make(map[string]bool)
	for _, e := range t.fixed {
		if e.Kind != Dir || t.bare[e.Path] {
			markAbove(has, e.Path)
		}
	}
	for _, f := range t.files {
		if f.skipped == "" {
			markAbove(has, f.Path)
		}
	}
	t.fixed = slices.DeleteFunc(t.fixed, func(e Entry) bool { return e.Kind == Dir && !has[e.Path] })
}

// markAbove marks p and the directories above it.
func markAbove(has map[string]bool, p string) {
	for ; !has[p]; p = path.Dir(p) {
		has[p] = true
	}
}

// index makes what overlays lie over.
func (t *Template) index() {
	t.base, t.left, t.ownGit = t.listed(t.files)
	t.byPath = make(map[string]int, len(t.files))
	for i, f := range t.files {
		t.byPath[f.Path] = i
	}
}

// maxSearched is how large a file of a template may be to be searched as a whole, in bytes.
const maxSearched = 64 << 20

// Each calls f with each path of the template, the target of each link and the content of each file, except, unless all
// is set, those that Source.Search has seen. It leaves out files and returns false if a file is too large, or is no
// longer what it was.
func (t *Template) Each(ctx context.Context, all bool, f func(content []byte)) (complete bool) {
	for _, e := range t.fixed {
		f([]byte(e.Path))
		f([]byte(e.Target))
	}
	var tr *tree
	if !t.inMemory {
		var err error
		if tr, err = openTree(ctx, t.src.Dir); err != nil {
			return false
		}
		defer tr.close()
	}
	complete = true
	for _, file := range t.files {
		if file.skipped == "" {
			f([]byte(file.Path))
		}
		switch data, err := file.data, error(nil); {
		case file.skipped != "", file.searched && !all:
		case !t.loaded || file.Size > maxSearched:
			complete = false
		default:
			if !t.inMemory {
				data, err = tr.readText(file.Entry)
			}
			if err != nil {
				complete = false
				continue
			}
			f(data)
		}
	}
	return complete
}

// Holds reports whether there is something at a path of a loaded template, or below it.
func (t *Template) Holds(p string) bool {
	if _, found := t.base.search(p); found {
		return true
	}
	i, _ := t.base.search(p + "/")
	return i < len(t.base.Entries) && strings.HasPrefix(t.base.Entries[i].Path, p+"/")
}

// File returns the content of a file of a loaded template; ok is false if it has none at that path.
func (t *Template) File(p string) (data []byte, ok bool, err error) {
	e, ok := t.base.Lookup(p)
	if !ok || e.Kind != File {
		return nil, false, nil
	}
	data, err = t.read(e)
	return data, true, err
}

// Seeds returns the files that a loaded template copies and keep names, as seeds for other workspaces. It is an error
// if they have more than limit bytes, or if a symbolic link is among them.
func (t *Template) Seeds(ctx context.Context, limit int64, keep func(path string) bool) (map[string]Seed, error) {
	seeds := make(map[string]Seed)
	for _, e := range t.fixed {
		if e.Kind == Symlink && keep(e.Path) {
			return nil, fmt.Errorf("%s is a symbolic link, and only files can be laid over a workspace", e.Path)
		}
	}
	err := t.Read(ctx, func(p string, read func(limit int64) ([]byte, int64, error)) error {
		if !keep(p) || inGit(p) {
			return nil
		}
		data, size, err := read(limit)
		if limit -= size; limit < 0 && err == nil {
			err = errors.New("there are too many bytes to be laid over a workspace")
		}
		e, _ := t.base.Lookup(p)
		seeds[p] = Seed{bytes.Clone(data), e.Exec}
		return err
	})
	return seeds, err
}

// Digest returns a SHA-256 in hexadecimal over all that the template, which is loaded, copies, see [Manifest.Digest].
func (t *Template) Digest() string {
	if !t.ownGit {
		return t.baseDigest()
	}
	entries := slices.Clone(t.fixed)
	for _, f := range t.files {
		if f.skipped == "" {
			entries = append(entries, f.Entry)
		}
	}
	return manifestOf(entries).Digest()
}

// baseDigest is the digest of what overlays lie over.
func (t *Template) baseDigest() string {
	t.digestOnce.Do(func() { t.digest = t.base.Digest() })
	return t.digest
}

// Read calls f with each file of the template, those below .git included, and a function that reads at most limit bytes
// of it and tells its size. It stops at the first error.
func (t *Template) Read(
	ctx context.Context, f func(path string, read func(limit int64) (data []byte, size int64, err error)) error,
) error {
	tr := &tree{ctx: ctx}
	if !t.inMemory && len(t.files) > 0 {
		var err error
		if tr, err = openTree(ctx, t.src.Dir); err != nil {
			return err
		}
		defer tr.close()
	}
	for _, file := range t.files {
		if file.skipped != "" {
			continue
		}
		err := f(file.Path, func(limit int64) ([]byte, int64, error) {
			if t.inMemory {
				size := int64(len(file.data))
				return file.data[:min(limit, size)], size, ctx.Err()
			}
			return t.readHead(tr, file.Path, limit)
		})
		if err != nil {
			return fmt.Errorf("read workspace source: %s: %w", file.Path, err)
		}
	}
	return nil
}

// readHead returns at most limit bytes of a file of the source, and its size. What is not copied is empty.
func (t *Template) readHead(tr *tree, p string, limit int64) (data []byte, size int64, err error) {
	in, reason, err := t.open(tr, p)
	if err != nil || reason != "" {
		return nil, 0, err
	}
	defer func() { _ = in.Close() }()
	data = bytes.Clone(in.head[:min(limit, int64(len(in.head)))])
	if rest := limit - int64(len(data)); rest > 0 && int64(len(data)) < in.info.Size() {
		more, err := io.ReadAll(io.LimitReader(in, rest))
		if err != nil {
			return nil, 0, err
		}
		data = append(data, more...)
	}
	return data, max(in.info.Size(), int64(len(data))), nil
}

// settles is how long before it is read a file must have been modified: then another change gives it another time.
const settles = 2 * time.Second

// reader is what goroutines share that read a template's files.
type reader struct {
	now  time.Time    // when they began
	room atomic.Int64 // how many bytes may still be kept; negative: nothing is
}

// readFile reads a file and keeps its content if there is room.
func (t *Template) readFile(tr *tree, f *sourceFile, r *reader) error {
	in, reason, err := t.open(tr, f.Path)
	if err != nil || reason != "" {
		f.skipped = reason
		return err
	}
	defer func() { _ = in.Close() }()
	if r.room.Add(-in.info.Size()) >= 0 {
		data := bytes.NewBuffer(make([]byte, 0, in.info.Size()))
		f.Entry, err = tr.entry(in, data)
		f.data = data.Bytes()
	} else {
		f.Entry, err = tr.entry(in, io.Discard)
	}
	if f.searched = err == nil && t.src.Search != nil && int64(len(in.head)) == f.Size; f.searched {
		t.src.Search(in.head)
	}
	if modified := in.info.ModTime(); modified.Before(r.now.Add(-settles)) {
		f.settled = modified
	}
	return err
}

// open opens a file of the source, or returns the reason why it is not copied.
func (t *Template) open(tr *tree, p string) (f opened, reason string, err error) {
	f, err = tr.open(p)
	if errors.Is(err, errNotRegular) {
		return f, err.Error(), nil
	}
	if err == nil {
		if reason = t.refuses(p, f.head); reason != "" {
			err = f.Close()
		}
	}
	return f, reason, err
}

// refuses returns why a file that begins so is not copied; empty: it is.
func (t *Template) refuses(p string, head []byte) (reason string) {
	if secretContent(head) && !t.rules.names(p) {
		return "looks like a private key by its content"
	}
	if t.src.Hide != nil {
		return t.src.Hide(p, head)
	}
	return ""
}

// planner decides which paths of a source its template copies. It does so before anything is copied, since the source
// may contain the workspace.
type planner struct {
	*Template
	tree interface {
		list(dir string) ([]fs.DirEntry, error) // sorted by name
		readlink(p string) (string, error)
	}
	source *tree           // the directory; nil: it is a commit
	dirs   map[string]bool // directories in fixed
}

// plan decides about the entries of dir.
func (t *planner) plan(dir string, in within) error {
	entries, err := t.tree.list(dir)
	if err != nil {
		return err
	}
	t.bare[dir] = len(entries) == 0
	if t.repository != nil {
		var hidden string
		if in, hidden, err = t.repository.enter(t, dir, entries, in); err != nil {
			return err
		}
		if hidden != "" && !t.rules.asks(dir) {
			t.note(dir, hidden)
			return nil
		}
	}
	for _, d := range entries {
		p := join(dir, d.Name())
		if t.rules.excluded(p) {
			continue
		}
		if !utf8.ValidString(p) {
			return &nameError{Path: p}
		}
		if d.IsDir() {
			err = t.planDir(p, in)
		} else {
			err = t.planFile(p, d.Type(), in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *planner) planDir(p string, in within) error {
	hidden, asked := "not copied by default", t.rules.opens(p, true)
	if !SkippedDir(path.Base(p)) {
		var err error
		if hidden, in.ignored, err = t.hides(p, true, in); err != nil {
			return err
		}
		asked = t.rules.asks(p)
	}
	if hidden != "" && !asked {
		t.note(p, hidden)
		return nil
	}
	in.partial = in.partial || hidden != ""
	if !in.partial || t.rules.covers(p) {
		t.addDir(p)
	} else if !t.rules.opens(p, false) {
		return nil
	}
	return t.plan(p, in)
}

func (t *planner) planFile(p string, mode fs.FileMode, in within) error {
	reason := ""
	switch {
	case in.partial && !t.rules.covers(p):
		return nil
	case path.Base(p) == ".git" && !t.rules.names(p):
		reason = "file .git that points to another directory"
	case IsSecret(p) && !t.rules.names(p):
		reason = "looks like a secret by its name"
	case t.committed != nil && t.committed.files[p].Kind == git.Submodule:
		reason = "submodule, whose files are not in the commit"
	case mode&fs.ModeSymlink == 0 && !mode.IsRegular():
		reason = errNotRegular.Error()
	case !t.rules.asks(p):
		var err error
		if reason, _, err = t.hides(p, false, in); err != nil {
			return err
		}
	}
	switch {
	case reason != "":
		t.note(p, reason)
	case mode&fs.ModeSymlink != 0:
		return t.planLink(p)
	default:
		t.addDir(path.Dir(p))
		t.files = append(t.files, sourceFile{Entry: Entry{Path: p}})
	}
	return nil
}

// hides is [repository.hides] where that has a say.
func (t *planner) hides(p string, isDir bool, in within) (reason string, ignored bool, err error) {
	if t.repository == nil || in.partial {
		return "", false, nil
	}
	return t.repository.hides(p, isDir, in)
}

func (t *planner) planLink(p string) error {
	target, err := t.tree.readlink(p)
	if err != nil {
		return err
	}
	if !leadsInside(p, target) {
		t.note(p, "symbolic link that may lead outside: "+target)
		return nil
	}
	t.addDir(path.Dir(p))
	t.fixed = append(t.fixed, Entry{Path: p, Kind: Symlink, Target: target})
	return nil
}

// addDir adds a directory and those above it, once.
func (t *planner) addDir(p string) {
	if !t.dirs[p] {
		t.dirs[p] = true
		t.addDir(path.Dir(p))
		t.fixed = append(t.fixed, Entry{Path: p, Kind: Dir})
	}
}

func (t *planner) note(p, reason string) { t.notes = append(t.notes, Note{Path: p, Reason: reason}) }

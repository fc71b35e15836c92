package workspace

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

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
	// loaded says that files have their entries, inMemory that all have their contents, too.
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
	held  bool // data is its content
	// skipped is the reason for not copying the file, found in its content; empty: the file is copied.
	skipped string
	// settled is when the file was last modified, if that was long before it was read: as long as it is, and the file's
	// size, its content is the same. The zero value: it may be another.
	settled time.Time
	// searched: Source.Search was called with its content.
	searched bool
}

// Load reads src once for many workspaces. A source of at most 64 MiB is kept in memory, so that all workspaces are
// equal; of a larger one some files are, of the others the digests, and those are read again when they are copied. In
// both cases this process has opened its files, so go test knows that the test depends on them. Load ignores src.Files:
// see [Template.Prepare].
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

// Holds reports whether there is something at a path of a loaded template, or below it.
func (t *Template) Holds(p string) bool {
	if _, found := t.base.search(p); found {
		return true
	}
	i, _ := t.base.search(p + "/")
	return i < len(t.base.Entries) && strings.HasPrefix(t.base.Entries[i].Path, p+"/")
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

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
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"
)

// maxInMemory is the largest size of a source, in bytes, that a template keeps in memory.
const maxInMemory = 8 << 20

// Template is a source from which many workspaces are made. It may be used by several goroutines.
type Template struct {
	src   Source
	rules rules
	fixed []Entry // links and directories, each directory before its content
	files []sourceFile
	notes []Note
	// inMemory says that files have their contents.
	inMemory bool
}

type sourceFile struct {
	Entry // only the path, unless the template is in memory
	data  []byte
	// skipped is the reason for not copying the file, found in its content; empty: the file is copied.
	skipped string
}

// Load reads src once for many workspaces. A source of at most 8 MiB is kept in memory, so that all workspaces are
// equal; a larger one is read again each time. In both cases this process has opened its files, so go test knows that
// the test depends on them. Load ignores src.Files: see [Template.Prepare].
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
	tr, err := openTree(ctx, src.Dir)
	if err != nil {
		return nil, err
	}
	defer tr.close()
	p := planner{Template: t, tree: tr, dirs: map[string]bool{".": true}}
	err = p.plan(".", false)
	for _, e := range t.fixed {
		t.rules.copied(e.Path)
	}
	for _, f := range t.files {
		t.rules.copied(f.Path)
	}
	return t, err
}

// Excludes reports whether a pattern of Source.Exclude leaves out anything.
func (t *Template) Excludes(pattern string) bool { return t.rules.excludes[cleanPattern(pattern)] }

// Includes reports whether a pattern of Source.Include matches anything that is copied.
func (t *Template) Includes(pattern string) bool { return t.rules.includes[cleanPattern(pattern)] }

// load reads the contents of all files unless they are too large together.
func (t *Template) load(ctx context.Context) error {
	if t.src.Dir == "" {
		return nil
	}
	tr, err := openTree(ctx, t.src.Dir)
	if err != nil {
		return err
	}
	defer tr.close()
	files := make([]sourceFile, len(t.files))
	room := int64(maxInMemory)
	for i, f := range t.files {
		files[i], err = t.readFile(tr, f.Path, &room)
		if err != nil || room < 0 {
			return err
		}
	}
	t.files, t.inMemory = files, true
	return nil
}

// Each calls f with each path of the template and its content: that of a file, or the target of a link. It leaves out
// files and returns false if the template does not have their contents in memory.
func (t *Template) Each(f func(path string, content []byte)) (complete bool) {
	for _, e := range t.fixed {
		f(e.Path, []byte(e.Target))
	}
	if !t.inMemory {
		return t.src.Dir == ""
	}
	for _, file := range t.files {
		if file.skipped == "" {
			f(file.Path, file.data)
		}
	}
	return true
}

// Digest returns a SHA-256 in hexadecimal over all that the template copies, see [Manifest.Digest].
func (t *Template) Digest(ctx context.Context) (string, error) {
	src := &tree{ctx: ctx}
	if !t.inMemory && len(t.files) > 0 {
		var err error
		if src, err = openTree(ctx, t.src.Dir); err != nil {
			return "", err
		}
		defer src.close()
	}
	entries := slices.Clone(t.fixed)
	for _, f := range t.files {
		if !t.inMemory {
			var err error
			if f, err = t.digestFile(src, f.Path); err != nil {
				return "", fmt.Errorf("read workspace source: %s: %w", f.Path, err)
			}
		}
		if f.skipped == "" {
			entries = append(entries, f.Entry)
		}
	}
	return manifestOf(entries).Digest(), nil
}

// digestFile returns the file at p without its content.
func (t *Template) digestFile(tr *tree, p string) (sourceFile, error) {
	in, reason, err := t.open(tr, p)
	if err != nil || reason != "" {
		return sourceFile{Entry: Entry{Path: p}, skipped: reason}, err
	}
	defer func() { _ = in.Close() }()
	e, err := tr.entry(in, io.Discard)
	return sourceFile{Entry: e}, err
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

// readFile subtracts the size of the file at p from room and reads the file unless room becomes negative.
func (t *Template) readFile(tr *tree, p string, room *int64) (sourceFile, error) {
	in, reason, err := t.open(tr, p)
	if err != nil || reason != "" {
		return sourceFile{Entry: Entry{Path: p}, skipped: reason}, err
	}
	defer func() { _ = in.Close() }()
	if *room -= in.info.Size(); *room < 0 {
		return sourceFile{}, nil
	}
	data := bytes.NewBuffer(make([]byte, 0, in.info.Size()))
	e, err := tr.entry(in, data)
	return sourceFile{Entry: e, data: data.Bytes()}, err
}

// open opens a file of the source, or returns the reason why it is not copied.
func (t *Template) open(tr *tree, p string) (f opened, reason string, err error) {
	f, err = tr.open(p)
	switch {
	case errors.Is(err, errNotRegular):
		return f, err.Error(), nil
	case err == nil && secretContent(f.head) && !t.rules.names(p):
		return f, "looks like a private key by its content", f.Close()
	}
	return f, "", err
}

// planner decides which paths of a source its template copies. It does so before anything is copied, since the source
// may contain the workspace.
type planner struct {
	*Template
	tree *tree
	dirs map[string]bool // directories in fixed
}

// plan decides about the entries of dir. In a partial directory, one that is left out by default, only the entries that
// an include pattern covers are copied.
func (t *planner) plan(dir string, partial bool) error {
	entries, err := t.tree.list(dir)
	if err != nil {
		return err
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
			err = t.planDir(p, partial)
		} else if !partial || t.rules.covers(p) {
			err = t.planFile(p, d.Type())
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *planner) planDir(p string, partial bool) error {
	if SkippedDir(path.Base(p)) {
		if !t.rules.opens(p, true) {
			t.note(p, "not copied by default")
			return nil
		}
		partial = true
	}
	if !partial || t.rules.covers(p) {
		t.addDir(p)
	} else if !t.rules.opens(p, false) {
		return nil
	}
	return t.plan(p, partial)
}

func (t *planner) planFile(p string, mode fs.FileMode) error {
	switch {
	case path.Base(p) == ".git" && !t.rules.names(p):
		t.note(p, "file .git that points to another directory")
	case IsSecret(p) && !t.rules.names(p):
		t.note(p, "looks like a secret by its name")
	case mode&fs.ModeSymlink != 0:
		return t.planLink(p)
	case mode.IsRegular():
		t.addDir(path.Dir(p))
		t.files = append(t.files, sourceFile{Entry: Entry{Path: p}})
	default:
		t.note(p, errNotRegular.Error())
	}
	return nil
}

func (t *planner) planLink(p string) error {
	target, err := t.tree.root.Readlink(p)
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

// secretNames are globs for files that look like secrets, matched against the base name in lower case.
var secretNames = []string{
	".env", ".env.*", ".npmrc", ".pypirc", ".netrc", "_netrc",
	"id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "*.key", "*.p12", "*.pfx", "*.ppk", "*.jks", "*.keystore",
}

// rules decide which paths of a source are copied.
type rules struct {
	include, exclude []string
	// excludes and includes are the patterns that matched something.
	excludes, includes map[string]bool
}

func newRules(include, exclude []string) (rules, error) {
	in, err := cleanPatterns(include)
	if err != nil {
		return rules{}, fmt.Errorf("include %w", err)
	}
	ex, err := cleanPatterns(exclude)
	if err != nil {
		return rules{}, fmt.Errorf("exclude %w", err)
	}
	return rules{include: in, exclude: ex, excludes: make(map[string]bool), includes: make(map[string]bool)}, nil
}

// cleanPatterns returns globs in one form, or an error if one cannot be of paths in a workspace.
func cleanPatterns(patterns []string) ([]string, error) {
	var cleaned []string
	for _, p := range patterns {
		p = cleanPattern(p)
		if p == "" || strings.HasPrefix(p, "/") || slices.Contains(strings.Split(p, "/"), "..") {
			return nil, fmt.Errorf("%q: the path is not below the workspace", p)
		}
		if !doublestar.ValidatePattern(p) {
			return nil, fmt.Errorf("%q: %w", p, doublestar.ErrBadPattern)
		}
		cleaned = append(cleaned, p)
	}
	return cleaned, nil
}

func cleanPattern(p string) string { return strings.TrimSuffix(strings.TrimPrefix(p, "./"), "/") }

func (r rules) excluded(p string) bool {
	excluded := false
	for _, pattern := range r.exclude {
		if doublestar.MatchUnvalidated(pattern, p) {
			r.excludes[pattern], excluded = true, true
		}
	}
	return excluded
}

// copied marks the include patterns that match p, a path that is copied.
func (r rules) copied(p string) {
	for _, pattern := range r.include {
		if !r.includes[pattern] && covered(pattern, p) {
			r.includes[pattern] = true
		}
	}
}

// opens reports whether an include pattern may match the directory p or a path below it. With byName, a segment of the
// pattern must name the directory: "**" and "*" alone do not, or "**/x.txt" would search all of node_modules.
func (r rules) opens(p string, byName bool) bool {
	for _, pattern := range r.include {
		for end := 0; end < len(pattern); end++ {
			next := strings.IndexByte(pattern[end:], '/')
			if next < 0 {
				next = len(pattern) - end
			}
			segment := pattern[end : end+next]
			end += next
			if (!byName || !isWild(segment)) && doublestar.MatchUnvalidated(pattern[:end], p) {
				return true
			}
		}
	}
	return false
}

// covers reports whether an include pattern matches p or a directory above it.
func (r rules) covers(p string) bool {
	return slices.ContainsFunc(r.include, func(pattern string) bool { return covered(pattern, p) })
}

func covered(pattern, p string) bool {
	return doublestar.MatchUnvalidated(pattern, p) || doublestar.MatchUnvalidated(pattern+"/**", p)
}

// names reports whether an include pattern names the file p by more than a wildcard, as copying a secret requires.
func (r rules) names(p string) bool {
	return slices.ContainsFunc(r.include, func(pattern string) bool {
		return !isWild(path.Base(pattern)) && doublestar.MatchUnvalidated(pattern, p)
	})
}

// IncludesSecrets reports whether a pattern of [Source.Include] may copy files that look like secrets, or what is in a
// git repository's own directory.
func IncludesSecrets(pattern string) bool {
	if strings.Contains(pattern, "{") { // which may hold anything
		return true
	}
	base := path.Base(pattern)
	if !isWild(base) && (strings.ContainsAny(base, `*?[\`) || IsSecret(base)) {
		return true
	}
	return slices.ContainsFunc(strings.Split(pattern, "/"), func(segment string) bool {
		return !isWild(segment) && doublestar.MatchUnvalidated(segment, ".git")
	})
}

func isWild(segment string) bool { return strings.Trim(segment, "*") == "" }

// IsSecret reports whether a file, by its name, a path with slashes, is likely to contain a secret. Such files are not
// copied unless an include pattern names them.
func IsSecret(p string) bool {
	base := strings.ToLower(path.Base(p))
	return slices.ContainsFunc(secretNames, func(glob string) bool { return doublestar.MatchUnvalidated(glob, base) })
}

// secretContent reports whether a file begins like a private key.
func secretContent(head []byte) bool {
	head = bytes.TrimLeft(head[:min(len(head), 256)], " \t\r\n")
	first, _, _ := bytes.Cut(head, []byte("\n"))
	return bytes.HasPrefix(first, []byte("-----BEGIN ")) && bytes.Contains(first, []byte("PRIVATE KEY")) ||
		bytes.HasPrefix(first, []byte("PuTTY-User-Key-File-"))
}

package git

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// Kind is what an entry of a commit is.
type Kind string

// The kinds of entries.
const (
	File      Kind = "file"
	Program   Kind = "program" // a file that its owner may execute
	Link      Kind = "link"
	Submodule Kind = "submodule" // another repository's commit
)

// modes are those of entries that are not directories, as git writes them.
var modes = map[string]Kind{"100644": File, "100664": File, "100755": Program, "120000": Link, "160000": Submodule}

// Entry is a file, link or submodule of a commit.
type Entry struct {
	Path string // below the directory that was listed, with slashes
	Kind Kind
	Size int64  // of the content, in bytes; a submodule has none
	ID   string // names the content
}

const (
	maxEntries = 1_000_000
	maxPath    = 4096 // bytes
)

// untouched are settings and variables with which git reads what the repository has, and nothing else: it fetches what
// a partial clone lacks from nowhere, no object stands for another, and a path is no pattern.
var (
	untouched    = []string{"-c", "protocol.allow=never"}
	untouchedEnv = []string{
		"GIT_NO_LAZY_FETCH=1", "GIT_NO_REPLACE_OBJECTS=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_LITERAL_PATHSPECS=1",
	}
)

// Top returns the top directory of the work tree that dir is in, or would be in if it existed; empty: there is none. It
// looks at .git without the go command knowing of it, since a repository's directory is always changing.
func Top(dir string) string {
	for {
		if _, err := os.Readlink(filepath.Join(dir, ".git")); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return dir
		}
		above := filepath.Dir(dir)
		if above == dir {
			return ""
		}
		dir = above
	}
}

// Exclude returns the file of the repository of top, which need not exist, with rules for what all its work trees
// ignore.
func Exclude(top string) string {
	dir, rel := filepath.Join(top, ".git"), filepath.Join("info", "exclude")
	if _, err := os.Lstat(filepath.Join(dir, rel)); err == nil {
		return filepath.Join(dir, rel)
	}
	// A submodule and a further work tree have a file that names the directory.
	for _, name := range []string{"", "commondir"} {
		text, err := disk.ReadRegular(filepath.Join(dir, name), maxPath)
		if err != nil {
			break
		}
		to := strings.TrimSpace(strings.TrimPrefix(string(text), "gitdir: "))
		if !filepath.IsAbs(to) && name == "" {
			to = filepath.Join(top, to)
		} else if !filepath.IsAbs(to) {
			to = filepath.Join(dir, to)
		}
		dir = to
	}
	return filepath.Join(dir, rel)
}

// Moves reports whether ref, which names the commit id now in the repository of dir, may soon name another: it is a
// branch, HEAD or relative to one, not a tag or the commit's own name.
func Moves(ctx context.Context, dir, ref, id string) bool {
	base := ref
	if i := strings.IndexAny(ref, "^~@{"); i >= 0 {
		base = ref[:i]
	}
	if len(base) >= 4 && strings.Trim(base, "0123456789abcdef") == "" && (base != ref || strings.HasPrefix(id, ref)) {
		return false
	}
	tag := "refs/tags/" + strings.TrimPrefix(base, "refs/tags/")
	_, err := Output(ctx, Top(dir), "rev-parse", "--verify", "--quiet", "--end-of-options", tag)
	return err != nil
}

// List returns what a commit of the repository of top has in a directory, a path with slashes or ".", sorted by path as
// git sorts.
func List(ctx context.Context, top, commit, dir string) ([]Entry, error) {
	tree := commit + ":"
	if dir != "." {
		tree += dir
	}
	var entries []Entry
	err := intoEntries(&entries).of(ctx, top, "ls-tree", "-r", "-z", "-l", "--full-tree", tree)
	if failed, ok := errors.AsType[*Error](err); ok {
		return nil, fmt.Errorf("the commit %s has no directory %s: %s", commit, dir, strings.TrimSpace(failed.Text))
	}
	return entries, err
}

// intoEntries reads what `git ls-tree -z -l` prints.
func intoEntries(entries *[]Entry) *records {
	return &records{each: func(line string) error {
		e, err := parseEntry(line)
		if err == nil && len(*entries) == maxEntries {
			err = fmt.Errorf("more than %d files", maxEntries)
		}
		if err == nil {
			*entries = append(*entries, e)
		}
		return err
	}}
}

// Tracked returns what the index of the repository of top has in a directory, a path with slashes or ".": files, links
// and submodules, and the directories that lead to them, by their paths below top.
func Tracked(ctx context.Context, top, dir string) (map[string]bool, error) {
	all := make(map[string]bool)
	l := &records{each: func(name string) error {
		for p := name; !all[p] && p != "." && p != "/"; p = path.Dir(p) {
			all[p] = true
		}
		if len(all) > maxEntries {
			return fmt.Errorf("more than %d files", maxEntries)
		}
		return nil
	}}
	return all, l.of(ctx, top, "ls-files", "-z", "--full-name", "--cached", "--", dir)
}

// records passes on what git prints with -z, record by record.
type records struct {
	each func(record string) error
	rest []byte
	err  error // ends git
}

// of runs git on the repository of top, and of no directory above it; its output is the records.
func (r *records) of(ctx context.Context, top string, args ...string) error {
	env := append(slices.Clone(untouchedEnv), "GIT_CEILING_DIRECTORIES="+filepath.Dir(top))
	err := run(ctx, top, nil, r, env, append(slices.Clone(untouched), args...)...)
	if r.err != nil {
		return fmt.Errorf("git %s: %w", args[0], r.err)
	}
	if err == nil && len(r.rest) > 0 {
		err = fmt.Errorf("git %s: its last line has no end", args[0])
	}
	return err
}

func (r *records) Write(p []byte) (int, error) {
	r.rest = append(r.rest, p...)
	for {
		record, rest, ok := bytes.Cut(r.rest, []byte{0})
		if !ok {
			break
		}
		if r.err = r.each(string(record)); r.err != nil {
			return 0, r.err
		}
		r.rest = rest
	}
	if len(r.rest) > 2*maxPath {
		r.err = fmt.Errorf("path longer than %d bytes", maxPath)
	}
	r.rest = bytes.Clone(r.rest) // not the whole of what was read before
	return len(p), r.err
}

// parseEntry parses a line such as "100644 blob ID     12\tpath". Paths that no work tree can have are errors.
func parseEntry(line string) (Entry, error) {
	about, name, _ := strings.Cut(line, "\t")
	fields := strings.Fields(about)
	if len(fields) != 4 || modes[fields[0]] == "" || !isID(fields[2]) {
		return Entry{}, fmt.Errorf("unknown entry %q", line)
	}
	e := Entry{Path: name, Kind: modes[fields[0]], ID: fields[2]}
	if name == "." || path.IsAbs(name) || path.Clean(name) != name || name == ".." || strings.HasPrefix(name, "../") {
		return Entry{}, fmt.Errorf("the path %q is not below the work tree", name)
	}
	if e.Kind == Submodule {
		return e, nil
	}
	var err error
	e.Size, err = strconv.ParseInt(fields[3], 10, 64)
	if err != nil || e.Size < 0 {
		return Entry{}, fmt.Errorf("the content of %s is not in the repository: fetch it (a partial clone?)", name)
	}
	return e, nil
}

func isID(s string) bool { return len(s) >= 40 && strings.Trim(s, "0123456789abcdef") == "" }

// Read calls f with the content of each entry, in order, as it was committed: no filter, conversion or attribute is
// applied. It stops at the first error.
func Read(ctx context.Context, top string, entries []Entry, f func(e Entry, data []byte) error) error {
	if len(entries) == 0 {
		return nil
	}
	var ids strings.Builder
	for _, e := range entries {
		ids.WriteString(e.ID + "\n")
	}
	from, to := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		err := run(ctx, top, strings.NewReader(ids.String()), to, untouchedEnv,
			append(untouched, "cat-file", "--batch")...)
		_ = to.CloseWithError(err)
		ended <- err
	}()
	err := readBatch(bufio.NewReader(from), entries, f)
	_ = from.CloseWithError(errors.New("it printed more than was asked for"))
	if failed := <-ended; err == nil {
		err = failed
	}
	return err
}

// readBatch reads what `git cat-file --batch` prints.
func readBatch(r *bufio.Reader, entries []Entry, f func(e Entry, data []byte) error) error {
	for _, e := range entries {
		line, err := r.ReadString('\n')
		if err != nil {
			return fmt.Errorf("git cat-file: %s: %w", e.Path, err)
		}
		if line != fmt.Sprintf("%s blob %d\n", e.ID, e.Size) {
			return fmt.Errorf("git cat-file: %s: it is %q", e.Path, strings.TrimSpace(line))
		}
		data := make([]byte, e.Size+1)
		if _, err := io.ReadFull(r, data); err != nil {
			return fmt.Errorf("git cat-file: %s: %w", e.Path, err)
		}
		if err := f(e, data[:e.Size]); err != nil {
			return err
		}
	}
	return nil
}

// Package style has the workflow styles that sdd.prepare writes into a workspace: the files that tell a coding agent
// how to work. It loads and writes styles and does not interpret them. docs/styles.md is the reference for writing one.
//
// The file AGENTS.md of a style becomes a managed block in the workspace's own:
//
//	<!-- sdd-eval:begin -->
//	...
//	<!-- sdd-eval:end -->
//
// All other files are written as they are, except that the project's own (llmanspec/project.md and everything below
// llmanspec/specs and llmanspec/changes) are left alone if they exist.
package style

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// agentsFile is the file with the managed block, in a style and in a workspace.
const agentsFile = "AGENTS.md"

//go:embed embedded
var embedded embed.FS

// Style is a set of files that tell an agent how to work. It does not change once loaded, so several goroutines may use
// it.
type Style struct {
	name  string
	files map[string]file // by path: relative, with slashes
}

type file struct {
	data []byte
	exec bool
}

func (f file) perm() fs.FileMode {
	if f.exec {
		return 0o755
	}
	return 0o644
}

// builtIn are the names of the embedded styles, sorted.
var builtIn = []string{"sdd", "sdd-legacy"}

// Load returns the style with this name: the embedded one or, if dir is not empty, the one in that directory of the
// user. The directory may have at most 1,000 files and directories and 8 MiB. A symbolic link in it stands for the
// regular file to which it leads and must not lead out of the directory. Entries named .git are ignored. Errors name
// the path.
func Load(name, dir string) (*Style, error) {
	s, err := load(name, dir)
	if err != nil {
		return nil, fmt.Errorf("load style %q: %w", name, err)
	}
	return s, nil
}

func load(name, dir string) (*Style, error) {
	if dir != "" {
		files, err := readDir(dir)
		return &Style{name: name, files: files}, err
	}
	if !slices.Contains(builtIn, name) {
		return nil, fmt.Errorf("unknown style; built in are %s, others need a directory under styles",
			strings.Join(builtIn, " and "))
	}
	files, err := readEmbedded("embedded/" + name)
	return &Style{name: name, files: files}, err
}

// Name returns the name under which the style was loaded.
func (s *Style) Name() string { return s.name }

// Files returns the contents of the style's files by path, relative and with slashes. AGENTS.md lacks the markers of
// the block. The caller may change the result.
func (s *Style) Files() map[string][]byte {
	files := make(map[string][]byte, len(s.files))
	for p, f := range s.files {
		files[p] = bytes.Clone(f.data)
	}
	return files
}

// The limits on a user's directory.
const (
	maxEntries = 1000    // files and directories
	maxBytes   = 8 << 20 // contents of all files
)

func readEmbedded(dir string) (map[string]file, error) {
	files := make(map[string]file)
	err := fs.WalkDir(embedded, dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := embedded.ReadFile(p)
		files[strings.TrimPrefix(p, dir+"/")] = file{data: data}
		return err
	})
	return files, err
}

// readDir reads a user's directory.
func readDir(dir string) (map[string]file, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	r := dirReader{root: root, files: make(map[string]file), folded: make(map[string]string), room: maxBytes}
	if err := r.dir("."); err != nil {
		return nil, err
	}
	if len(r.files) == 0 {
		return nil, fmt.Errorf("%s has no files", dir)
	}
	return r.files, nil
}

type dirReader struct {
	root    *os.Root
	files   map[string]file
	folded  map[string]string // paths by their lower-case form
	entries int               // read so far
	room    int64             // how many more bytes files may have
}

// dir reads everything below the directory at p.
func (r *dirReader) dir(p string) error {
	entries, err := r.list(p)
	if err != nil {
		return r.wrap(p, err)
	}
	for _, d := range entries {
		if strings.EqualFold(d.Name(), ".git") {
			continue
		}
		child := path.Join(p, d.Name())
		if err := r.checkName(child); err != nil {
			return r.wrap(child, err)
		}
		if d.IsDir() && child != agentsFile {
			err = r.dir(child)
		} else if err = r.file(child); err != nil {
			err = r.wrap(child, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// list returns the entries of a directory, sorted. It stops reading at the limit.
func (r *dirReader) list(p string) ([]fs.DirEntry, error) {
	d, err := r.root.Open(p)
	if err != nil {
		return nil, err
	}
	defer func() { _ = d.Close() }()
	entries, err := d.ReadDir(maxEntries - r.entries + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if r.entries += len(entries); r.entries > maxEntries {
		return nil, fmt.Errorf("a style may have at most %d files and directories", maxEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// checkName rejects names that some file systems cannot store next to each other, or would take for another file.
func (r *dirReader) checkName(p string) error {
	if !utf8.ValidString(p) {
		return errors.New("the name is not UTF-8")
	}
	folded := strings.ToLower(p)
	if other, ok := r.folded[folded]; ok {
		return fmt.Errorf("the name differs from %s only by case", other)
	}
	if r.folded[folded] = p; folded == strings.ToLower(agentsFile) && p != agentsFile {
		return fmt.Errorf("the name must be spelled %s", agentsFile)
	}
	return nil
}

func (r *dirReader) file(p string) error {
	f, err := disk.OpenRegularIn(r.root, p)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	data, err := io.ReadAll(io.LimitReader(f, r.room+1))
	if err != nil {
		return err
	}
	if r.room -= int64(len(data)); r.room < 0 {
		return fmt.Errorf("the files of a style may have at most %d MiB together", maxBytes>>20)
	}
	if p == agentsFile {
		if err := checkBody(data); err != nil {
			return err
		}
	}
	r.files[p] = file{data: data, exec: isExec(info)}
	return nil
}

// wrap adds the path to an error, which may have it already.
func (r *dirReader) wrap(p string, err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	return fmt.Errorf("%s: %w", filepath.Join(r.root.Name(), filepath.FromSlash(p)), err)
}

func isExec(info fs.FileInfo) bool { return info.Mode()&0o111 != 0 }

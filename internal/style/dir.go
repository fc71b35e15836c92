package style

import (
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

// What a user's directory may have at most.
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
	folded  map[string]string // paths by themselves in lower case
	entries int               // seen so far
	room    int64             // bytes that files may still have
}

// dir reads what is below the directory at p.
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

// list returns what is in a directory, sorted, and reads no more of it than may be there.
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
		return nil, fmt.Errorf("a style has at most %d files and directories", maxEntries)
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

// checkName refuses names that not every file system can hold side by side, or that would pass for another file on some.
func (r *dirReader) checkName(p string) error {
	if !utf8.ValidString(p) {
		return errors.New("the name is not UTF-8")
	}
	folded := strings.ToLower(p)
	if other, ok := r.folded[folded]; ok {
		return fmt.Errorf("the name differs from %s by case alone", other)
	}
	if r.folded[folded] = p; folded == strings.ToLower(agentsFile) && p != agentsFile {
		return fmt.Errorf("the name is to be spelt %s", agentsFile)
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
		return fmt.Errorf("the files of a style have at most %d MiB together", maxBytes>>20)
	}
	if p == agentsFile {
		if err := checkBody(data); err != nil {
			return err
		}
	}
	r.files[p] = file{data: data, exec: isExec(info)}
	return nil
}

// wrap names the path that an error is about, and it once.
func (r *dirReader) wrap(p string, err error) error {
	if inner, ok := errors.AsType[*fs.PathError](err); ok {
		err = inner.Err
	}
	return fmt.Errorf("%s: %w", filepath.Join(r.root.Name(), filepath.FromSlash(p)), err)
}

func isExec(info fs.FileInfo) bool { return info.Mode()&0o111 != 0 }

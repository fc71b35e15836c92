package style

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// Write writes the style into the workspace that root is open on and returns the paths that it wrote, relative, with
// slashes, sorted: none if all was there already. The managed block of AGENTS.md is put in place; what belongs to the
// project and exists is left alone; other files become what they are in the style. It writes nothing if it finds a file
// that it cannot write: a damaged block, or a symbolic link or directory in the place of a file.
func (s *Style) Write(root *os.Root) ([]string, error) {
	changes, err := s.plan(root)
	var written []string
	for _, c := range changes {
		if err = c.write(root); err != nil {
			break
		}
		written = append(written, c.path)
	}
	if err != nil {
		return written, fmt.Errorf("write style %q: %w", s.name, err)
	}
	return written, nil
}

// change is a file to write.
type change struct {
	path string
	data []byte
	perm fs.FileMode
}

// plan returns what to write, sorted by path; nothing if some of it cannot be written.
func (s *Style) plan(root *os.Root) ([]change, error) {
	var changes []change
	for _, p := range slices.Sorted(maps.Keys(s.files)) {
		var c change
		var needed bool
		info, err := root.Lstat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c, err = s.add(p)
			needed = true
		case err == nil:
			c, needed, err = s.update(root, p, info)
		}
		if err != nil {
			return nil, err
		}
		if needed {
			changes = append(changes, c)
		}
	}
	return changes, nil
}

// add returns the change for a file that the workspace lacks.
func (s *Style) add(p string) (change, error) {
	f := s.files[p]
	if p == agentsFile {
		data, err := splice(nil, f.data)
		return change{path: p, data: data, perm: 0o644}, err
	}
	return change{path: p, data: f.data, perm: f.perm()}, nil
}

// update returns the change for a path where the workspace has something, if one is needed.
func (s *Style) update(root *os.Root, p string, info fs.FileInfo) (c change, needed bool, err error) {
	kept := projectOwns(p)
	if link := info.Mode()&fs.ModeSymlink != 0; !info.Mode().IsRegular() && !(link && kept) {
		return change{}, false, fmt.Errorf("%s: is %s, where a regular file is to be", p, kind(info.Mode()))
	}
	if kept {
		return change{}, false, nil
	}
	old, err := read(root, p)
	if err != nil {
		return change{}, false, err
	}
	f := s.files[p]
	if p == agentsFile {
		data, err := splice(old, f.data)
		return change{path: p, data: data, perm: info.Mode().Perm()}, !bytes.Equal(old, data), err
	}
	same := bytes.Equal(old, f.data) && isExec(info) == f.exec
	return change{path: p, data: f.data, perm: f.perm()}, !same, nil
}

// projectOwns tells whether the file at p is the project's once it exists. Case does not count, as on some file
// systems.
func projectOwns(p string) bool {
	p = strings.ToLower(p)
	return p == "llmanspec/project.md" || strings.HasPrefix(p, "llmanspec/specs/") ||
		strings.HasPrefix(p, "llmanspec/changes/")
}

func kind(mode fs.FileMode) string {
	switch {
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "neither file nor directory"
}

// read reads a regular file of the workspace.
func read(root *os.Root, p string) ([]byte, error) {
	f, err := disk.OpenRegularIn(root, p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("%s: has more than %d MiB", p, maxBytes>>20)
	}
	return data, err
}

// write puts the file in place, so that whoever reads it sees the old content or the new.
func (c change) write(root *os.Root) error {
	if err := root.MkdirAll(path.Dir(c.path), 0o755); err != nil {
		return err
	}
	temporary := path.Join(path.Dir(c.path), ".sdd-eval-"+rand.Text())
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, c.perm)
	if err != nil {
		return err
	}
	_, err = f.Write(c.data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = root.Rename(temporary, c.path)
	}
	if err != nil {
		return errors.Join(err, root.Remove(temporary))
	}
	return nil
}

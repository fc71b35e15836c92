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

// Write writes the style into the workspace at root. It returns the paths that it wrote, relative, with slashes,
// sorted, none if everything was up to date. It sets the managed block of AGENTS.md, leaves existing files of the
// project alone, and writes all other files as they are in the style. It writes nothing if it finds a file that it
// cannot write: a damaged block, or a symbolic link or directory in place of a file.
func (s *Style) Write(root *os.Root) ([]string, error) {
	changes, err := s.plan(source{root.Lstat, func(p string) (fs.File, error) { return disk.OpenRegularIn(root, p) }})
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

// Change is a file that the style writes into a workspace.
type Change struct {
	Path string
	Data []byte
	Exec bool
}

// Changes returns what [Style.Write] would write into a workspace with these files, which no process changes. An error
// says that it could not.
func (s *Style) Changes(files fs.ReadLinkFS) ([]Change, error) {
	planned, err := s.plan(source{files.Lstat, files.Open})
	if err != nil {
		return nil, fmt.Errorf("write style %q: %w", s.name, err)
	}
	changes := make([]Change, len(planned))
	for i, c := range planned {
		changes[i] = Change{c.path, c.data, c.perm&0o100 != 0}
	}
	return changes, nil
}

// source is a workspace that is read.
type source struct {
	lstat func(path string) (fs.FileInfo, error)
	open  func(path string) (fs.File, error) // a regular file
}

// change is a file to write.
type change struct {
	path string
	data []byte
	perm fs.FileMode
}

// plan returns the files to write, sorted by path, or an error if one of them cannot be written.
func (s *Style) plan(from source) ([]change, error) {
	var changes []change
	for _, p := range slices.Sorted(maps.Keys(s.files)) {
		var c change
		var needed bool
		info, err := from.lstat(p)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c, err = s.add(p)
			needed = true
		case err == nil:
			c, needed, err = s.update(from, p, info)
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

// update returns the change for a path that exists in the workspace, and whether the change is needed.
func (s *Style) update(from source, p string, info fs.FileInfo) (c change, needed bool, err error) {
	kept := projectOwns(p)
	if link := info.Mode()&fs.ModeSymlink != 0; !info.Mode().IsRegular() && !(link && kept) {
		return change{}, false, fmt.Errorf("%s: it is %s, not a regular file", p, kind(info.Mode()))
	}
	if kept {
		return change{}, false, nil
	}
	old, err := read(from, p)
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

// projectOwns reports whether the file at p, once it exists, belongs to the project. Like some file systems, it ignores
// case.
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
func read(from source, p string) ([]byte, error) {
	f, err := from.open(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p, err)
	}
	defer func() { _ = f.Close() }()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err == nil && len(data) > maxBytes {
		err = fmt.Errorf("%s: the file exceeds the limit of %d MiB", p, maxBytes>>20)
	}
	return data, err
}

// write replaces the file as a whole: readers see the old content or the new.
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

// The markers are alone on their lines. Elsewhere they are text.
const (
	beginMarker = "<!-- sdd-eval:begin -->"
	endMarker   = "<!-- sdd-eval:end -->"
)

// splice returns text with body as its managed block, which replaces an existing one or else is added at the end. The
// rest of text stays as it is. The block's lines end like the first line of text.
func splice(text, body []byte) ([]byte, error) {
	if bytes.IndexByte(text, 0) >= 0 {
		return nil, fmt.Errorf("%s: not a text file: it contains NUL bytes", agentsFile)
	}
	found, err := locate(text)
	if err != nil {
		return nil, err
	}
	eol := lineEnd(text)
	block := render(body, eol)
	if found != (span{}) {
		return bytes.Join([][]byte{text[:found.from], block, text[found.to:]}, nil), nil
	}
	out := bytes.Clone(text)
	if len(out) > 0 {
		if out[len(out)-1] != '\n' {
			out = append(out, eol...)
		}
		out = append(out, eol...)
	}
	return append(append(out, block...), eol...), nil
}

// render returns the block without a final line break.
func render(body []byte, eol string) []byte {
	body = bytes.Trim(bytes.ReplaceAll(body, []byte("\r\n"), []byte("\n")), "\n")
	block := beginMarker + "\n" + string(body) + "\n" + endMarker
	return bytes.ReplaceAll([]byte(block), []byte("\n"), []byte(eol))
}

// lineEnd returns the end of the first line, which does not depend on the block.
func lineEnd(text []byte) string {
	first, _, _ := bytes.Cut(text, []byte("\n"))
	if bytes.HasSuffix(first, []byte("\r")) {
		return "\r\n"
	}
	return "\n"
}

// span is the position of a block in bytes, both markers included. The zero value means that there is no block.
type span struct{ from, to int }

// locate finds the managed block of text. If the block is damaged, the error names the line.
func locate(text []byte) (span, error) {
	var found span
	line, begin, end, offset := 0, 0, 0, 0 // lines count from 1
	for l := range bytes.Lines(text) {
		line++
		switch marker := trim(l, line); {
		case marker == beginMarker && end > 0:
			return span{}, damaged(line, "a second managed block begins, the first one is on lines %d to %d", begin,
				end)
		case marker == beginMarker && begin > 0:
			return span{}, damaged(line, "a managed block begins inside the one of line %d", begin)
		case marker == beginMarker:
			begin, found.from = line, offset+bytes.Index(l, []byte(beginMarker))
		case marker == endMarker && (begin == 0 || end > 0):
			return span{}, damaged(line, "a managed block ends without a beginning")
		case marker == endMarker:
			end, found.to = line, offset+bytes.Index(l, []byte(endMarker))+len(endMarker)
		}
		offset += len(l)
	}
	if begin > 0 && end == 0 {
		return span{}, damaged(begin, "the managed block that begins here does not end")
	}
	return found, nil
}

// trim returns a line without white space and byte order mark, which are allowed around a marker.
func trim(line []byte, number int) string {
	if number == 1 {
		line = bytes.TrimPrefix(line, []byte("\ufeff"))
	}
	return string(bytes.Trim(line, " \t\r\n"))
}

func damaged(line int, format string, args ...any) error {
	return fmt.Errorf("%s:%d: %s: want one %q followed by one %q, or neither",
		agentsFile, line, fmt.Sprintf(format, args...), beginMarker, endMarker)
}

// checkBody returns an error if body cannot be inside a block.
func checkBody(body []byte) error {
	if bytes.IndexByte(body, 0) >= 0 {
		return errors.New("not a text file: it contains NUL bytes")
	}
	line := 0
	for l := range bytes.Lines(body) {
		line++
		if m := trim(l, line); m == beginMarker || m == endMarker {
			return fmt.Errorf("line %d: remove %s: it is added when the style is written", line, m)
		}
	}
	return nil
}

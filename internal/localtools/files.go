package localtools

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/sdd-eval/sdd-eval/internal/disk"
)

// DefaultMaxSize is the size of the largest file that is read or written, in bytes, if [Files.MaxSize] does not say.
const DefaultMaxSize = 16 << 20

// ErrNotText is the error of reading a file that is not valid UTF-8.
var ErrNotText = errors.New("not a text file: invalid UTF-8")

// Files reads and writes text files of a workspace for an agent. Its methods may be called from many goroutines.
//
// Their errors are [*Denied], or wrap [ErrNotText] or the system's error, e.g. fs.ErrNotExist.
type Files struct {
	// OnDeny, if not nil, is called for every denial, from many goroutines. Set it before the first use.
	OnDeny func(Denied)
	// MaxSize is the size of the largest file, in bytes; 0 means DefaultMaxSize. Set it before the first use.
	MaxSize int64

	root *root
}

// OpenFiles opens the workspace dir, which the agent may know by a path of its own; empty: it does not. Close closes
// it.
func OpenFiles(dir, seen string) (*Files, error) {
	r, err := openRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open workspace: %w", err)
	}
	if seen != "" {
		r.location = r.location.Also(seen)
	}
	return &Files{root: r}, nil
}

// Close closes the workspace; it then serves nothing any more.
func (f *Files) Close() error { return f.root.Close() }

func (f *Files) maxSize() int64 {
	if f.MaxSize == 0 {
		return DefaultMaxSize
	}
	return f.MaxSize
}

// Read returns the text of the file at an absolute path, as it is on disk, line ends included. With line, it begins
// there: lines count from 1, and 0 means 1. With limit, it ends after so many lines. Past the end of the file there is
// "".
func (f *Files) Read(path string, line, limit *int) (string, error) {
	if line != nil && *line < 0 || limit != nil && *limit < 0 {
		return "", fmt.Errorf("read %s: line and limit must not be negative: %w", path, fs.ErrInvalid)
	}
	rel, reason := f.root.local(path)
	if reason != "" {
		return "", deny(f.OnDeny, OpRead, path, reason)
	}
	// Not to hang on opening a FIFO.
	file, err := f.root.OpenFile(rel, os.O_RDONLY|disk.Nonblock, 0)
	if err != nil {
		return "", f.fail(OpRead, path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", f.fail(OpRead, path, err)
	}
	if reason := f.unreadable(info); reason != "" {
		return "", deny(f.OnDeny, OpRead, path, reason)
	}
	data, err := io.ReadAll(io.LimitReader(file, f.maxSize()+1))
	if err != nil {
		return "", f.fail(OpRead, path, err)
	}
	if int64(len(data)) > f.maxSize() { // it has grown
		return "", deny(f.OnDeny, OpRead, path, f.tooLarge())
	}
	if !utf8.Valid(data) {
		return "", fmt.Errorf("read %s: %w", path, ErrNotText)
	}
	return lines(string(data), line, limit), nil
}

// unreadable returns the reason why an open file must not be read, if there is one.
func (f *Files) unreadable(info fs.FileInfo) string {
	switch {
	case !info.Mode().IsRegular():
		return "not a regular file"
	case info.Size() > f.maxSize():
		return f.tooLarge()
	case links(info) > 1:
		return "a hard link: its other names may be outside the workspace"
	}
	return ""
}

func (f *Files) tooLarge() string { return fmt.Sprintf("larger than %d bytes", f.maxSize()) }

// lines returns limit lines of text, starting at the 1-based line.
func lines(text string, line, limit *int) string {
	if line != nil {
		text = text[skipLines(text, *line-1):]
	}
	if limit != nil {
		text = text[:skipLines(text, *limit)]
	}
	return text
}

// skipLines returns where the line after the first n begins.
func skipLines(text string, n int) int {
	end := 0
	for ; n > 0 && end < len(text); n-- {
		i := strings.IndexByte(text[end:], '\n')
		if i < 0 {
			return len(text)
		}
		end += i + 1
	}
	return end
}

// Write makes text the content of the file at an absolute path, making parent directories as needed. The file is new: a
// link at that place is replaced and not followed, and no reader sees half of it. It keeps the permissions of the file
// that it replaces.
func (f *Files) Write(path, text string) error {
	rel, reason := f.root.local(path)
	switch {
	case reason != "":
		return deny(f.OnDeny, OpWrite, path, reason)
	case int64(len(text)) > f.maxSize():
		return deny(f.OnDeny, OpWrite, path, f.tooLarge())
	}
	parent, name := "", rel
	if i := strings.LastIndexByte(rel, '/'); i >= 0 {
		parent, name = rel[:i+1], rel[i+1:]
	}
	if name == "" || name == "." || name == ".." {
		return f.fail(OpWrite, path, syscall.EISDIR)
	}
	dir, err := f.makeParent(parent)
	if err != nil {
		return f.fail(OpWrite, path, err)
	}
	defer dir.Close()
	mode, reason := replaced(dir, name)
	if reason != "" {
		return deny(f.OnDeny, OpWrite, path, reason)
	}
	if err := replace(dir, name, text, mode); err != nil {
		return f.fail(OpWrite, path, err)
	}
	return nil
}

// makeParent opens a directory below the root, which may not exist yet. What happens in it does not depend any more on
// what its path comes to mean.
func (f *Files) makeParent(rel string) (*os.Root, error) {
	if rel == "" {
		return f.root.OpenRoot(".")
	}
	if err := f.root.MkdirAll(rel, 0o777); err != nil {
		return nil, err
	}
	return f.root.OpenRoot(rel)
}

// replaced returns the permissions of the file that a write replaces, nil if it replaces none, or the reason why it may
// not be replaced. A symbolic link has none.
func replaced(dir *os.Root, name string) (mode *fs.FileMode, reason string) {
	info, err := dir.Lstat(name)
	switch {
	case err != nil, info.Mode().Type() == fs.ModeSymlink: // what else is wrong, replace will see
		return nil, ""
	case !info.Mode().IsRegular():
		return nil, "not a regular file"
	}
	perm := info.Mode().Perm()
	return &perm, ""
}

// replace puts a new file with the text into the place of name.
func replace(dir *os.Root, name, text string, mode *fs.FileMode) (err error) {
	temporary := ".sdd-eval-" + rand.Text()
	file, err := dir.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dir.Remove(temporary))
		}
	}()
	_, err = io.WriteString(file, text)
	if err == nil && mode != nil {
		err = file.Chmod(*mode)
	}
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return err
	}
	return dir.Rename(temporary, name)
}

// fail returns the error of an operation of [os.Root] in terms of the path that the agent gave.
func (f *Files) fail(op, path string, err error) error {
	if f.root.escapes(err) {
		return deny(f.OnDeny, op, path, reasonOutside)
	}
	if errno, ok := errors.AsType[syscall.Errno](err); ok {
		err = errno
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// The reasons for which a path is no path into the workspace.
const (
	reasonRelative = "not an absolute path"
	reasonNUL      = "a NUL byte in the path"
	reasonLong     = "the path is too long"
	reasonOutside  = "outside the workspace"
)

// maxPath bounds the paths of agents, in bytes: what Linux takes.
const maxPath = 4096

// root is the workspace.
type root struct {
	*os.Root
	location disk.Location
	// errEscapes is what [os.Root] says to a path that leads out of it. The error has no exported name.
	errEscapes error
}

func openRoot(dir string) (*root, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	opened, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	_, err = opened.Lstat("..")
	refusal, ok := errors.AsType[*fs.PathError](err)
	if !ok {
		opened.Close()
		return nil, fmt.Errorf("%s is not confined: %w", dir, err)
	}
	return &root{Root: opened, location: disk.Locate(dir), errEscapes: refusal.Err}, nil
}

// local returns the part of an absolute path that is below the root, "." for the root itself, or the reason why there
// is none. The path is not cleaned, as a/../b is another file than b where a is a link: resolving it is for [os.Root].
func (r *root) local(path string) (rel, reason string) {
	switch {
	case len(path) > maxPath:
		return "", reasonLong
	case strings.ContainsRune(path, 0):
		return "", reasonNUL
	case !filepath.IsAbs(path):
		return "", reasonRelative
	}
	if rel, ok := r.location.Below(path); ok {
		return rel, ""
	}
	return "", reasonOutside
}

// escapes reports whether an error is the refusal to leave the root.
func (r *root) escapes(err error) bool { return errors.Is(err, r.errEscapes) }

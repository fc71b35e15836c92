package expect

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"syscall"
	"unicode"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// MaxFileSize is the size of the largest file that is read, in bytes.
const MaxFileSize = 16 << 20

// Tree is a workspace. Links that lead out of it are not followed.
type Tree struct {
	files workspace.Files
	kept  func(path string) error
	given func(path string) (bool, error)
}

// CleanPath returns the path of a file below the workspace in the form that the methods of [Tree] expect.
func CleanPath(name string) (string, error) {
	if strings.TrimSpace(name) != name { // a typo, with which `absent` would pass
		return "", fmt.Errorf("%q begins or ends with white space: remove it", name)
	}
	switch {
	case strings.Contains(name, `\`):
		return "", fmt.Errorf("%q has a backslash: paths have slashes", name)
	case plan.BeginsElsewhere(name):
		return "", fmt.Errorf("%q begins with a variable, a home or a drive: write the path below the workspace alone",
			name)
	case strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsGraphic(r) }):
		return "", fmt.Errorf("%+q has a character that nobody sees: write the path anew", name)
	}
	clean := path.Clean(name)
	if !fs.ValidPath(clean) || clean == "." {
		return "", fmt.Errorf("%q is not a path below the workspace", name)
	}
	if strings.ContainsAny(name, "*?") { // as a name it would match nothing, and `absent` would pass
		return "", fmt.Errorf("%q looks like a pattern: a path names one file", name)
	}
	return clean, nil
}

// OpenTree opens the workspace of an evaluator's input. That there is none is an error. The methods of the tree return
// the errors of [evaluator.Input.Kept], and as a problem what is as a step before the agent left it.
func OpenTree(in evaluator.Input) (*Tree, error) {
	t := &Tree{in.Files, in.Kept, in.Given}
	switch {
	case t.files != nil:
	case in.Workspace == "":
		return nil, errors.New("no workspace")
	default:
		t.files = workspace.OnDisk(in.Workspace)
	}
	if t.kept == nil {
		t.kept = func(string) error { return nil }
	}
	if t.given == nil {
		t.given = func(string) (bool, error) { return false, nil }
	}
	return t, nil
}

// Absent returns as a problem what exists under a path where nothing should.
func (t *Tree) Absent(path string) (problem string, err error) {
	if err := t.kept(path); err != nil {
		return "", err
	}
	info, err := t.files.Lstat(path)
	switch {
	case isNotExist(err):
		return t.asGiven(path)
	case isEscape(err):
		return leadsOut, nil
	case err != nil:
		return "", err
	default:
		return "it exists: " + describe(info), nil
	}
}

// Exists returns why there is no file or directory. It follows links, but not out of the workspace.
func (t *Tree) Exists(path string) (problem string, err error) {
	_, problem, err = t.stat(path)
	return problem, err
}

// Read returns the content of a regular file, or why there is none.
func (t *Tree) Read(path string) (content []byte, problem string, err error) {
	info, problem, err := t.stat(path)
	if err != nil || problem != "" {
		return nil, problem, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would block
		return nil, "it is " + describe(info), nil
	}
	if info.Size() > MaxFileSize {
		return nil, "", tooLarge(path)
	}
	in, err := t.files.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer in.Close()
	content, err = io.ReadAll(io.LimitReader(in, MaxFileSize+1))
	if err == nil && len(content) > MaxFileSize {
		err = tooLarge(path)
	}
	return content, "", err
}

func tooLarge(path string) error {
	return fmt.Errorf("%s exceeds the %d MiB limit", path, MaxFileSize>>20)
}

// stat describes the file that a path leads to, or says why there is none.
func (t *Tree) stat(path string) (info fs.FileInfo, problem string, err error) {
	if err := t.kept(path); err != nil {
		return nil, "", err
	}
	info, err = t.files.Stat(path)
	switch {
	case isNotExist(err):
		if _, err := t.files.Lstat(path); err == nil {
			return nil, "it is a dangling link", nil
		}
		return nil, "it does not exist", nil
	case isEscape(err):
		return nil, leadsOut, nil
	case errors.Is(err, syscall.ELOOP):
		return nil, "it is a link that leads to itself", nil
	case err != nil:
		return nil, "", err
	}
	problem, err = t.asGiven(path)
	return info, problem, err
}

// asGiven returns as a problem that a path is as a step before the agent left it.
func (t *Tree) asGiven(path string) (problem string, err error) {
	given, err := t.given(path)
	if given {
		problem = "a step before the agent left it so, not the agent (`after: steps` takes what steps made)"
	}
	return problem, err
}

const leadsOut = "it leads out of the workspace"

// isNotExist reports whether there is no such file, also if a parent directory is a file.
func isNotExist(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// isEscape reports whether os.Root refused to leave the workspace. It has no error value for that.
func isEscape(err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	return ok && strings.Contains(e.Err.Error(), "path escapes")
}

func describe(info fs.FileInfo) string {
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return fmt.Sprintf("a file of %d bytes", info.Size())
	case mode.IsDir():
		return "a directory"
	case mode&fs.ModeSymlink != 0:
		return "a link"
	default:
		return "not a regular file"
	}
}

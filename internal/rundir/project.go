package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// ProjectRoot returns the root of the project for the working directory dir, absolute and without symlinks: the
// override if there is one, relative to dir; else CLAUDE_PROJECT_DIR; else the nearest directory upwards that has a
// .git, which may be a directory or a file; else dir. It returns an error if the root is not a directory or is the home
// directory, and if its path has a line break, because programs read the path of a run from a line of output.
func ProjectRoot(dir, override string, getenv func(string) string) (string, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", fmt.Errorf("find the project root: %w", err)
	}
	root, source := override, "--root"
	if root == "" {
		root, source = getenv("CLAUDE_PROJECT_DIR"), "CLAUDE_PROJECT_DIR"
	}
	if root == "" {
		source = "the working directory"
		if root, err = gitRoot(dir); err != nil {
			return "", fmt.Errorf("find the project root: %w", err)
		}
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(dir, root) // dir itself, if there is none
	}
	if root, err = resolve(root); err != nil {
		return "", fmt.Errorf("find the project root by %s: %w", source, err)
	}
	if strings.ContainsAny(root, "\r\n") {
		return "", fmt.Errorf("the path of the project root by %s, %q, has a line break: "+
			"rename it, or name another with --root", source, root)
	}
	if isHome(root, getenv) {
		return "", fmt.Errorf("the project root by %s would be the home directory, %s: name another with --root",
			source, root)
	}
	return root, nil
}

// gitRoot returns the nearest directory upwards that has a .git, or "" if there is none.
func gitRoot(dir string) (string, error) {
	for {
		_, err := os.Stat(filepath.Join(dir, ".git"))
		if err == nil {
			return dir, nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", nil
		}
		dir = parent
	}
}

// resolve returns the path of a directory without symlinks.
func resolve(dir string) (string, error) {
	resolved, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(resolved)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is not a directory", resolved)
	}
	return resolved, err
}

// isHome reports whether dir is the home directory. It compares files, since one directory can have many names.
func isHome(dir string, getenv func(string) string) bool {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	home, err := os.Stat(getenv(name))
	if err != nil {
		return false // there is no home directory
	}
	info, err := os.Stat(dir)
	return err == nil && os.SameFile(info, home)
}

// EnsureIgnored makes git ignore the project's runs and test-output/. It adds missing lines to
// .llman/sdd-eval/.gitignore and to the project's .gitignore, and changes nothing else there.
func EnsureIgnored(root string) error {
	for _, f := range []struct{ name, pattern string }{
		{".llman/sdd-eval/.gitignore", "/runs/"},
		{".gitignore", "/test-output/"},
	} {
		if err := EnsureLine(root, f.name, f.pattern); err != nil {
			return fmt.Errorf("ignore %s in %s: %w", f.pattern, filepath.Join(root, filepath.FromSlash(f.name)), err)
		}
	}
	return nil
}

// EnsureLine appends a line to the file of that name below root, unless it has the line: a pattern for git that names a
// directory beside the file.
func EnsureLine(root, name, pattern string) error {
	data, err := readFile(root, name, 1<<20)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if ignores(data, pattern) {
		return nil
	}
	newline := "\n"
	if bytes.Contains(data, []byte("\r\n")) {
		newline = "\r\n"
	}
	data = slices.Clip(data)
	if len(data) > 0 && !bytes.HasSuffix(data, []byte("\n")) {
		data = append(data, newline...)
	}
	return writeFile(root, name, append(data, pattern+newline...))
}

// ignores reports whether the last line about the directory ignores it.
func ignores(data []byte, pattern string) bool {
	ignored := false
	for line := range strings.Lines(string(data)) {
		line, negated := strings.CutPrefix(strings.TrimRight(line, " \t\r\n"), "!")
		if line != "" && strings.Trim(line, "/") == strings.Trim(pattern, "/") {
			ignored = !negated
		}
	}
	return ignored
}

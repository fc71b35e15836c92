package rundir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// ProjectRoot returns the root of the project that someone in dir works on, absolute and without symlinks: the override
// if there is one, relative to dir; else CLAUDE_PROJECT_DIR; else the nearest directory upwards that has a .git, be it
// a directory or a file; else dir. A root that is no directory is an error, and so are the home directory and a path of several lines: who
// reads the path of a run from a line of output would read another.
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
	if root == "" {
		root = dir
	}
	if !filepath.IsAbs(root) {
		root = filepath.Join(dir, root)
	}
	if root, err = resolve(root); err != nil {
		return "", fmt.Errorf("find the project root by %s: %w", source, err)
	}
	if strings.ContainsAny(root, "\r\n") {
		return "", fmt.Errorf("the project root by %s, %q, has a line break in its path: rename it, or name another with --root", source, root)
	}
	if isHome(root, getenv) {
		return "", fmt.Errorf("the project root by %s would be the home directory, %s: name another with --root", source, root)
	}
	return root, nil
}

// gitRoot returns the nearest directory upwards that has a .git, empty if none has.
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

// isHome compares files, not names: there are many ways to write one directory.
func isHome(dir string, getenv func(string) string) bool {
	name := "HOME"
	if runtime.GOOS == "windows" {
		name = "USERPROFILE"
	}
	home, err := os.Stat(getenv(name))
	if err != nil {
		return false // no home that one could be in
	}
	info, err := os.Stat(dir)
	return err == nil && os.SameFile(info, home)
}

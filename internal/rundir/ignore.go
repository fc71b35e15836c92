package rundir

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
)

// EnsureIgnored sees to it that git ignores the project's runs and test-output/. It adds the lines that are missing to
// .llman/sdd-eval/.gitignore and to the project's .gitignore, and changes nothing else in them.
func EnsureIgnored(root string) error {
	for _, f := range []struct{ name, pattern string }{
		{".llman/sdd-eval/.gitignore", "/runs/"},
		{".gitignore", "/test-output/"},
	} {
		if err := ensureLine(root, f.name, f.pattern); err != nil {
			return fmt.Errorf("ignore %s in %s: %w", f.pattern, filepath.Join(root, filepath.FromSlash(f.name)), err)
		}
	}
	return nil
}

// ensureLine appends the pattern, which names a directory beside the file, unless the file ignores it already.
func ensureLine(root, name, pattern string) error {
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

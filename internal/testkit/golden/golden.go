// Package golden compares the results of tests with golden files, which UPDATE_GOLDEN=1 rewrites. It is for our own
// tests only.
package golden

import (
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/sdd-eval/sdd-eval/internal/words"
)

type tester interface {
	Helper()
	Name() string
	Errorf(format string, args ...any)
}

// Updating reports whether golden files are being rewritten.
func Updating() bool { return os.Getenv("UPDATE_GOLDEN") == "1" }

// Equal fails the test if the content of the file is not got. The file's path is relative to the package's directory.
// If golden files are being rewritten, Equal writes the file first.
func Equal[Text string | []byte](t tester, file string, got Text) {
	t.Helper()
	want, err := read(file, []byte(got))
	if err != nil {
		t.Errorf("%v\nto write it: %s", err, accept(t.Name()))
		return
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s (-want +got):\n%s\nto accept: %s", file, diff, accept(t.Name()))
	}
}

// read reads the file even if it has just written it, so that the go command knows that the test depends on it.
func read(file string, got []byte) ([]byte, error) {
	if Updating() {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, got, 0o644); err != nil {
			return nil, err
		}
	}
	return os.ReadFile(file)
}

// accept returns the command that rewrites the golden files of a test, for a shell anywhere in the module.
func accept(test string) string {
	levels := strings.Split(test, "/")
	for i, name := range levels {
		levels[i] = "^" + regexp.QuoteMeta(name) + "$"
	}
	pkg := "."
	if info, ok := debug.ReadBuildInfo(); ok {
		pkg = strings.TrimSuffix(info.Path, ".test")
	}
	return "UPDATE_GOLDEN=1 " + words.Join("go", "test", pkg, "-run", strings.Join(levels, "/"))
}

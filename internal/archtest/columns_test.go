package archtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// A line of Go code has at most maxColumns columns, a tab being tabColumns.
const maxColumns, tabColumns = 120, 4

// TestColumns holds all Go files that git tracks to maxColumns. Fixtures are data: if they changed, recordings would be
// stale.
func TestColumns(t *testing.T) {
	const root = "../.."
	list := exec.Command("git", "ls-files", "-z", "--", "*.go", ":!fixtures")
	list.Dir = root
	out, err := list.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		t.Fatalf("git ls-files: %v\n%s", err, exit.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	files := strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 })
	if len(files) == 0 {
		t.Fatal("git tracks no Go files")
	}
	for _, file := range files {
		data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
		if errors.Is(err, os.ErrNotExist) {
			continue // removed, but not from git's index yet
		} else if err != nil {
			t.Fatal(err)
		}
		for _, l := range longLines(string(data)) {
			t.Errorf("%s:%d: %d columns, want at most %d", file, l.line, l.columns, maxColumns)
		}
	}
}

// longLine is a line that is too long.
type longLine struct{ line, columns int }

// longLines returns the lines of a file that have more than maxColumns.
func longLines(text string) []longLine {
	var found []longLine
	n := 0
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimRight(line, "\r\n")
		columns := utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
		if columns > maxColumns {
			found = append(found, longLine{n, columns})
		}
	}
	return found
}

func TestColumnsBite(t *testing.T) {
	text := strings.Join([]string{
		strings.Repeat("x", 120), strings.Repeat("x", 121),
		"\t" + strings.Repeat("x", 116), "\t" + strings.Repeat("x", 117),
		strings.Repeat("é", 120) + "\r", strings.Repeat("é", 121),
	}, "\n")
	if got, want := longLines(text), []longLine{{2, 121}, {4, 121}, {6, 121}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

package archtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// A line of Go code has at most maxColumns columns, a tab being tabColumns.
const maxColumns, tabColumns = 120, 4

// TestColumns holds all Go files to maxColumns. Fixtures are data: if they changed, recordings would be stale.
func TestColumns(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && (name == "fixtures" || name == "node_modules" || len(name) > 2 && name[0] == '.'):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(name) != ".go":
			return nil
		}
		files++
		data, err := os.ReadFile(path)
		for _, l := range longLines(string(data)) {
			t.Errorf("%s:%d: %d columns, want at most %d", path, l.line, l.columns, maxColumns)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Fatalf("%d Go files, %v", files, err)
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

package evaltest

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/runpattern"
)

// tree are the names of the subtests of TestSelectionTree that stand for units.
func tree() (names []string) {
	for _, book := range []string{"book", "book-2"} {
		for _, c := range []string{"a", "b"} {
			for _, v := range []string{"claude", "codex"} {
				names = append(names, "TestSelectionTree/"+book+"/"+c+"/"+v)
			}
		}
	}
	return names
}

// TestSelectionTree is what TestSelection has package testing choose from.
func TestSelectionTree(t *testing.T) {
	var group func(t *testing.T, names []string)
	group = func(t *testing.T, names []string) {
		var heads []string
		for _, name := range names {
			if head, _, ok := strings.Cut(name, "/"); ok && !slices.Contains(heads, head) {
				heads = append(heads, head)
			}
		}
		for _, head := range heads {
			var below []string
			for _, name := range names {
				if rest, ok := strings.CutPrefix(name, head+"/"); ok {
					below = append(below, rest)
				}
			}
			t.Run(head, func(t *testing.T) { group(t, below) })
		}
	}
	var below []string
	for _, name := range tree() {
		below = append(below, strings.TrimPrefix(name, "TestSelectionTree/")+"/evaluator/")
	}
	group(t, below)
}

// TestSelection has both go test and us say which subtests a pattern leaves.
func TestSelection(t *testing.T) {
	tests := []struct{ name, run, skip string }{
		{"everything", "TestSelectionTree", ""},
		{"one unit", "^TestSelectionTree$/^book$/^a$/^claude$", ""},
		{"one evaluator of a unit", "^TestSelectionTree$/^book$/^a$/^claude$/^evaluator$", ""},
		{"an evaluator of all units", "TestSelectionTree/.*/.*/.*/evaluator", ""},
		{"no anchors", "SelectionTree/book/a/c", ""},
		{"empty levels", "SelectionTree//b//", ""},
		{"parentheses", "SelectionTree/book/(a|b)/codex", ""},
		{"a slash in parentheses", "SelectionTree/book/(a/claude)", ""},
		{"alternatives", "SelectionTree/^book$/a|SelectionTree/book-2/b/claude", ""},
		{"a slash in brackets", "SelectionTree/book[/|]", ""},
		{"a bracket in brackets", "SelectionTree/book/[]a]/codex", ""},
		{"an escaped slash", `SelectionTree/book\/a`, ""},
		{"an escaped bracket", `SelectionTree/bo\[|SelectionTree/book/b`, ""},
		{"a blank", "SelectionTree/book 2|SelectionTree/book/b", ""},
		{"nothing below", "SelectionTree/book/a/gemini", ""},
		{"skip a case", "SelectionTree", "SelectionTree/book/a"},
		{"skip an evaluator", "SelectionTree", "SelectionTree/book/a/claude/evaluator"},
		{"skip alternatives", "SelectionTree", "None|SelectionTree/book-2"},
		{
			"skip by the first alternative", "SelectionTree",
			"SelectionTree/book/a/claude/evaluator|SelectionTree/book/a/claude",
		},
		{"run and skip", "SelectionTree/book/b", "/^book$"},
		{"skip everything", "SelectionTree", "."},
	}
	self, err := os.Executable()
	require.NoError(t, err)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out, err := exec.Command(self, "-test.v", "-test.run="+tt.run, "-test.skip="+tt.skip).CombinedOutput()
			require.NoError(t, err, "%s", out)
			var want, got []string
			s := selection{run: parsed(t, tt.run)}
			if tt.skip != "" {
				s.skip = parsed(t, tt.skip)
			}
			for _, name := range tree() {
				if strings.Contains(string(out), "=== RUN   "+name+"\n") {
					want = append(want, name)
				}
				if s.has(name) {
					got = append(got, name)
				}
			}
			require.Equal(t, want, got)
		})
	}
}

func parsed(t *testing.T, text string) []runpattern.Pattern {
	t.Helper()
	patterns, err := runpattern.Parse(text)
	require.NoError(t, err)
	return patterns
}

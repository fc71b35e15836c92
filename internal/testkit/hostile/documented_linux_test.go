package hostile_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/testkit/hostile"
	"github.com/sdd-eval/sdd-eval/internal/wildcard"
)

// TestDocumented: the page about confinement says of each property what the tests expect of each kind, names the
// attacks on it, all of them, and no others; and what else it claims names tests that there are.
func TestDocumented(t *testing.T) {
	const root = "../../.."
	data, err := os.ReadFile(filepath.Join(root, "docs", "confinement.md"))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("TestAsUser runs elsewhere")
	}
	require.NoError(t, err)
	page := string(data)
	columns := []confine.Kind{confine.Bwrap, confine.Landlock, confine.None}
	for _, p := range confine.AllProperties() {
		i := strings.Index(page, "| `"+string(p)+"` |")
		require.Positive(t, i, "no row for %s", p)
		row, _, _ := strings.Cut(page[i:], "\n")
		cells := strings.Split(strings.Trim(row, "|"), "|")
		for c, kind := range columns {
			says := strings.TrimSpace(cells[1+c])
			assert.Contains(t, []string{"holds", "open", "**open**", "root: holds; else **open**"}, says)
			assert.Equal(t, says == "holds", slices.Contains(expected(kind), p), "%s under %s: %s", p, kind, says)
		}
		var patterns []string
		for pattern := range strings.SplitSeq(cells[len(cells)-1], ",") {
			patterns = append(patterns, strings.Trim(pattern, "` "))
		}
		attacks := attacksOn(p)
		for _, pattern := range patterns {
			named := func(attack string) bool { return wildcard.Match(pattern, attack) }
			assert.True(t, slices.ContainsFunc(attacks, named), "%s: no attack is called %s", p, pattern)
		}
		for _, attack := range attacks {
			names := func(pattern string) bool { return wildcard.Match(pattern, attack) }
			assert.True(t, slices.ContainsFunc(patterns, names), "%s: the page does not name %s", p, attack)
		}
	}
	for _, heading := range []string{
		"### A stranger's playbook", "## What holds", "### Files", "### Network", "### Processes",
		"### Use of the machine", "### Unix sockets", "### Terminals", "## Environment", "## Secrets",
		"## What no kind prevents",
	} {
		_, section, ok := strings.Cut(page, "\n"+heading+"\n")
		require.True(t, ok, heading)
		section, _, _ = strings.Cut(section, "\n#")
		assert.Regexp(t, "`Test[A-Z]", section, "%s names no test", heading)
	}
	tests := allTests(t, root)
	for _, named := range regexp.MustCompile("`(Test[A-Z]\\w*)(?:/([\\w-]+))?`").FindAllStringSubmatch(page, -1) {
		assert.Contains(t, tests, named[1], "there is no such test")
		if named[1] == "TestScript" {
			assert.FileExists(t, filepath.Join(root, "cmd/sdd-eval/testdata/script", named[2]+".txtar"))
		}
	}
}

// expected are the properties that a kind must have.
func expected(kind confine.Kind) []confine.Property {
	for _, k := range kinds {
		if k.kind == kind {
			return k.holds
		}
	}
	return nil
}

func attacksOn(p confine.Property) (names []string) {
	for _, e := range hostile.Escapes() {
		if e.Property == p {
			names = append(names, e.Name)
		}
	}
	for _, h := range hostile.Hogs() {
		if h.Property == p {
			names = append(names, h.Name)
		}
	}
	return names
}

// allTests returns the names of the tests of packages that the page may name.
func allTests(t *testing.T, root string) map[string]bool {
	t.Helper()
	names := make(map[string]bool)
	for _, dir := range []string{"internal", "cmd"} {
		err := filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") || e.IsDir() {
				return err
			}
			data, err := os.ReadFile(path)
			for _, test := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllSubmatch(data, -1) {
				names[string(test[1])] = true
			}
			return err
		})
		require.NoError(t, err)
	}
	return names
}

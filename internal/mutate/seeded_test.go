package mutate_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/mutate"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// seeded judges the mutants of the recordings in testdata/seeded by a playbook in place of strong.yaml. `sdd-eval run
// --mode record --playbook strong.yaml` has made them there; they do not depend on evaluators.
func seeded(t *testing.T, playbook string) mutate.Report {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.CopyFS(root, os.DirFS("testdata/seeded")))
	require.NoError(t, os.WriteFile(filepath.Join(root, "strong.yaml"), []byte(playbook), 0o644))
	r, p := open(t, root, "strong.yaml")
	report, err := mutate.Run(t.Context(), r, p, mutate.Config{})
	require.NoError(t, err)
	return report
}

// strong is the playbook without holes.
func strong(t *testing.T) string {
	t.Helper()
	data, err := os.ReadFile("testdata/seeded/strong.yaml")
	require.NoError(t, err)
	return string(data)
}

// TestStrong: a suite without holes notices every mutant, and accepts none.
func TestStrong(t *testing.T) {
	report := seeded(t, strong(t))
	c := report.Count()
	score, known := c.Score(true)
	assert.True(t, known)
	assert.InDelta(t, 1, score, 0)
	assert.Zero(t, c.Unknown)
}

// TestSeeded plants one hole after the other: each is found, by the mutants that go through it, and no other mutant
// survives.
func TestSeeded(t *testing.T) {
	const file = "testdata/seeded.txtar"
	table, err := txtar.ParseFile(file)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(table.Files), 30)
	blocks := regexp.MustCompile(`(?m)((?:^-.*\n)+)((?:^\+.*\n)*)`)
	for i, hole := range table.Files {
		t.Run(hole.Name, func(t *testing.T) {
			playbook, edits := strong(t), []string{}
			for _, m := range blocks.FindAllSubmatch(hole.Data, -1) {
				was, is := unprefixed(m[1]), unprefixed(m[2])
				require.True(t, strings.Contains(playbook, was), "strong.yaml has no\n%s", was)
				playbook = strings.Replace(playbook, was, is, 1)
				edits = append(edits, string(m[0]))
			}
			var survivors strings.Builder
			for _, u := range seeded(t, playbook).Units {
				for _, f := range u.Findings {
					if f.Status != mutate.Killed {
						fmt.Fprintf(&survivors, "%s %s %s: %s\n", f.Status, f.Operator, u.Case, f.Where)
					}
				}
			}
			assert.NotEmpty(t, survivors.String(), "the hole is not found")
			table.Files[i].Data = []byte(strings.Join(edits, "\n") + survivors.String())
		})
	}
	all := string(txtar.Format(table))
	golden.Equal(t, file, all)
	for _, op := range mutate.Operators() {
		if op.ID != "answer-of-variant" { // which is right
			assert.Contains(t, all, "survived "+op.ID+" ", "no hole is for it")
		}
	}
}

// unprefixed returns lines without their first characters.
func unprefixed(lines []byte) string {
	return regexp.MustCompile(`(?m)^.`).ReplaceAllString(string(lines), "")
}

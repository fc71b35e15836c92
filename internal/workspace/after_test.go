package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestApplyTo has what is not known without looking; the tests of replays have the rest.
func TestApplyTo(t *testing.T) {
	file := func(path, text string) Change { return Change{Path: path, Op: Added, Kind: File, Data: []byte(text)} }
	tests := []struct {
		name, reason string
		before       []Entry
		changes      []Change
		want         []string
		known        bool
	}{
		{name: "nothing", known: true},
		{name: "a file", changes: []Change{file("d/a", "")}, want: []string{"d", "d/a"}, known: true},
		{name: "ignored", reason: "a replay does not make it", changes: []Change{{Path: "a", Op: Added, Kind: File, Ignored: true}}, known: true},
		{name: "rules before", reason: "a file may count as ignored now", before: []Entry{{Path: "d/.gitignore", Kind: File}}, changes: []Change{file("a", "")}},
		{name: "rules that come", changes: []Change{file(".gitignore", "a"), file("a", "")}},
		{name: "a content that is not there", changes: []Change{{Path: "a", Op: Added, Kind: File}}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			after, known := Delta{Changes: tt.changes}.ApplyTo(Manifest{Entries: tt.before})
			assert.Equal(t, tt.known, known, tt.reason)
			var paths []string
			for _, e := range after.Entries {
				paths = append(paths, e.Path)
			}
			assert.Equal(t, tt.want, paths, tt.reason)
		})
	}
}

// TestCompareOther compares a workspace that does not hold what it is said to hold.
func TestCompareOther(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("other\n"), 0o644))
	after, known := Delta{Changes: []Change{{Path: "a", Op: Added, Kind: File, Data: []byte("said\n")}}}.ApplyTo(Manifest{})
	require.True(t, known)
	d, err := Baseline{}.Compare(t.Context(), dir, after)
	require.NoError(t, err)
	require.Contains(t, string(d.Text), "("+(&UnstableError{Path: "a"}).Error()+")")
	require.NotContains(t, string(d.Text), "said")
}

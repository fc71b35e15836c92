package workspace

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestApplyRefuses(t *testing.T) {
	text := func(p string) Change { return Change{Path: p, Op: Added, Kind: File, Data: []byte("x")} }
	tests := []struct {
		name    string
		changes []Change
		want    string
	}{
		{"upward", []Change{text("../x")}, `"../x" is not a path below the workspace`},
		{"upward within", []Change{text("d/../../x")}, `"d/../../x" is not a path below the workspace`},
		{"absolute", []Change{text("/tmp/x")}, `"/tmp/x" is not a path below the workspace`},
		{
			"the workspace itself",
			[]Change{{Path: ".", Op: Deleted, Kind: Dir}},
			`"." is not a path below the workspace`,
		},
		{"empty", []Change{text("")}, `"" is not a path below the workspace`},
		{"not clean", []Change{text("d//x")}, `"d//x" is not a path below the workspace`},
		{"git's own", []Change{text("d/.git/hooks/x")}, `"d/.git/hooks/x" belongs to git`},
		{"NUL", []Change{text("a\x00b")}, `"a\x00b" is not a file name on this system`},
		{"through a link that stays inside", []Change{text("in/x")}, "write in/x: in is a symlink, not a dir"},
		{"through a link that leads outside", []Change{text("out/x")}, "write out/x: out is a symlink, not a dir"},
		{
			"deletion through a link",
			[]Change{{Path: "out/victim", Op: Deleted, Kind: File}},
			"delete out/victim: out is a symlink, not a dir",
		},
		{
			"through a link of its own",
			[]Change{{Path: "z", Op: Added, Kind: Symlink, Target: "d"}, text("z/x")},
			"write z/x: z is a symlink, not a dir",
		},
		{
			"through a directory that becomes a link",
			[]Change{
				{Path: "d", Op: Modified, Kind: Symlink, Target: "e"},
				{Path: "d/f", Op: Deleted, Kind: File},
				text("d/g"),
			},
			"write d/g: d is a symlink, not a dir",
		},
		{
			"link upward",
			[]Change{{Path: "z", Op: Added, Kind: Symlink, Target: "../x"}},
			`z: symbolic link to "../x" may lead outside`,
		},
		{
			"absolute link",
			[]Change{{Path: "z", Op: Modified, Kind: Symlink, Target: "/etc"}},
			`z: symbolic link to "/etc" may lead outside`,
		},
		{
			"link that climbs later",
			[]Change{{Path: "z", Op: Added, Kind: Symlink, Target: "in/../../x"}},
			"may lead outside",
		},
		{"not sorted", []Change{text("y"), text("x")}, "x comes after y: changes are not sorted by path"},
		{"twice", []Change{text("x"), text("x")}, "x comes after x: changes are not sorted by path"},
		{"added over a file", []Change{text("d/f")}, "file exists"},
		{"added below a file", []Change{text("d/f/x")}, "d/f is a file, not a dir"},
		{
			"modified but missing",
			[]Change{{Path: "nix", Op: Modified, Kind: File}},
			"write nix: not found: the workspace differs from the recorded one",
		},
		{"deleted but missing", []Change{{Path: "nix", Op: Deleted, Kind: File}}, "delete nix: not found"},
		{"deleted another kind", []Change{{Path: "d", Op: Deleted, Kind: File}}, "delete d: it is a dir, not a file"},
		{
			"mode of a directory",
			[]Change{{Path: "d", Op: Modified, Kind: File, ModeOnly: true}},
			"write d: it is a dir, not a file",
		},
		{"unknown kind", []Change{{Path: "x", Op: Added, Kind: "fifo"}}, `write x: unknown kind "fifo"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			around := writeTree(t, map[string]string{
				"out/victim": "safe", "ws/d/f": "1", "ws/in": "-> d",
				"ws/out": "-> ../out",
			})
			err := Delta{Changes: tt.changes}.Apply(filepath.Join(around, "ws"))
			require.ErrorContains(t, err, tt.want)
			assert.Regexp(t, "^apply changes to workspace: ", err.Error())
			assert.Equal(t, map[string]string{"victim": "safe"}, readTree(t, filepath.Join(around, "out")))
		})
	}
}

func TestApplyLeavesIgnoredAlone(t *testing.T) {
	dir := writeTree(t, map[string]string{"out/x": "1", "kept": "2"})
	d := Delta{Changes: []Change{
		{Path: "nix", Op: Deleted, Kind: Dir, Ignored: true},
		{Path: "other", Op: Added, Kind: Symlink, Target: "/etc", Ignored: true},
		{Path: "out", Op: Modified, Kind: Dir, Ignored: true, Digest: "00"},
	}}
	require.NoError(t, d.Apply(dir))
	assert.Equal(t, map[string]string{"out/": "", "out/x": "1", "kept": "2"}, readTree(t, dir))
}

// A hard link to a file outside is replaced, not written through.
func TestApplyReplacesHardLinks(t *testing.T) {
	around := writeTree(t, map[string]string{"victim": "safe", "ws/d/": ""})
	require.NoError(t, os.Link(filepath.Join(around, "victim"), filepath.Join(around, "ws/f")))
	d := Delta{Changes: []Change{{Path: "f", Op: Modified, Kind: File, Data: []byte("new")}}}
	require.NoError(t, d.Apply(filepath.Join(around, "ws")))
	assert.Equal(t, map[string]string{"victim": "safe", "ws/": "", "ws/d/": "", "ws/f": "new"}, readTree(t, around))
}

// The directories that git does not keep are made when a change needs them.
func TestApplyMakesParents(t *testing.T) {
	dir := t.TempDir()
	d := Delta{Changes: []Change{{Path: "a/b/c", Op: Added, Kind: File, Data: []byte("1"), Exec: true}}}
	require.NoError(t, d.Apply(dir))
	assert.Equal(t, map[string]string{"a/": "", "a/b/": "", "a/b/c*": "1"}, readTree(t, dir))
}

func TestLeadsInside(t *testing.T) {
	tests := []struct {
		at, target string
		want       bool
	}{
		{"l", "a", true},
		{"l", "./a//b/", true},
		{"a/l", "..", true},
		{"a/b/l", "../../c", true},
		{"a/l", "./../c", true},
		{"l", "..", false},
		{"a/l", "../..", false},
		{"l", "a/..", false},
		{"a/l", "../b/../../c", false},
		{"l", "/a", false},
		{"l", "", false},
		{"l", `..\x`, false},
		{"l", "a\x00", false},
		{"l", "a\xff", false},
	}
	for _, tt := range tests {
		assert.Equal(t, tt.want, leadsInside(tt.at, tt.target), "%s -> %s", tt.at, tt.target)
	}
}

func FuzzLeadsInside(f *testing.F) {
	f.Add("a/b", "../../c")
	f.Add("l", "x/../..")
	f.Fuzz(func(t *testing.T, at, target string) {
		if checkPath(at) != nil || !leadsInside(at, target) {
			return
		}
		if p := filepath.Join(filepath.Dir(at), target); !filepath.IsLocal(p) {
			t.Errorf("%q -> %q leads to %q", at, target, p)
		}
	})
}

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
		{
			name: "ignored", reason: "a replay does not make it",
			changes: []Change{{Path: "a", Op: Added, Kind: File, Ignored: true}}, known: true,
		},
		{
			name: "rules before", reason: "a file may count as ignored now",
			before: []Entry{{Path: "d/.gitignore", Kind: File}}, changes: []Change{file("a", "")},
		},
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

// TestCompareOther compares a workspace whose files differ from its manifest.
func TestCompareOther(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("other\n"), 0o644))
	after, known := Delta{Changes: []Change{{
		Path: "a", Op: Added, Kind: File,
		Data: []byte("said\n"),
	}}}.ApplyTo(Manifest{})
	require.True(t, known)
	d, err := Baseline{}.Compare(t.Context(), dir, after)
	require.NoError(t, err)
	require.Contains(t, string(d.Text), "("+(&unstableError{Path: "a"}).Error()+")")
	require.NotContains(t, string(d.Text), "said")
}

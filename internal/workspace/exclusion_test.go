package workspace

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChangesLeaveOut(t *testing.T) {
	big := strings.Repeat("x", 5000)
	tests := []struct {
		name             string
		include, exclude []string
		before, after    map[string]string
		want             []string // changes
		left             LeftOut
		prepareInclude   []string
	}{
		{
			name:   "what is not copied by default",
			before: map[string]string{"a": "1"},
			after: map[string]string{
				"a": "2", "node_modules/x/y.js": big, "web/node_modules/z": big, "app/__pycache__/m.pyc": big,
				"target/debug/app": big, "lib/x.py": "3",
			},
			want: []string{"added dir app", `modified file a "2"`, `added file lib/x.py "3"`, "added dir web"},
			left: LeftOut{"app/__pycache__", "node_modules", "target", "web/node_modules"},
		},
		{
			name:   "a file is no such directory",
			before: map[string]string{},
			after:  map[string]string{"build": "#!/bin/sh\n", "dist": "x"},
			want:   []string{`added file build "#!/bin/sh\n"`, `added file dist "x"`},
		},
		{
			name:   "what was prepared is kept, and what is new in it",
			before: map[string]string{"dist/a": "1"}, prepareInclude: []string{"dist"},
			after: map[string]string{"dist/a": "2", "dist/b": "3", "dist/build/c": "4"},
			want:  []string{`modified file dist/a "2"`, `added file dist/b "3"`},
			left:  LeftOut{"dist/build"},
		},
		{
			name:    "what the playbook includes is kept",
			include: []string{"build"},
			after:   map[string]string{"build/c": "4", "x/build/d": "5"},
			want:    []string{`added file build/c "4"`, "added dir x"},
			left:    LeftOut{"x/build"},
		},
		{
			name:    "globs leave out what was prepared, too",
			exclude: []string{"gen/", "**/*.log", "./gone"},
			before:  map[string]string{"gen/a": "1", "a.log": "1", "b": "1", "gone": "1"},
			after:   map[string]string{"gen/a": "2", "x/b.log": "2", "b": "2"},
			want:    []string{`modified file b "2"`, "added dir x"},
			left:    LeftOut{"**/*.log", "gen"},
		},
		{
			name:  "rather left out than ignored by git, whose digests would differ each time",
			after: map[string]string{".gitignore": "node_modules/\nout/\n", "node_modules/x": big, "out/y": "1"},
			want:  []string{`added file .gitignore "node_modules/\nout/\n"`, "added dir out ignored"},
			left:  LeftOut{"node_modules"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			replayed := t.TempDir()
			before, _, err := Prepare(t.Context(),
				Source{Dir: writeTree(t, tt.before), Include: tt.prepareInclude}, replayed)
			require.NoError(t, err)
			x, err := NewExclusion(tt.include, tt.exclude)
			require.NoError(t, err)
			live := writeTree(t, tt.after)
			after, d, err := Changes(t.Context(), live, before, 1000, x)
			require.NoError(t, err)
			assert.ElementsMatch(t, tt.want, d.lines())
			assert.Equal(t, tt.left, after.LeftOut)
			require.NoError(t, d.Apply(replayed))

			// Both compare equal with the baseline.
			base := Baseline{manifest: before}.Without(x)
			was, err := base.Diff(t.Context(), live)
			require.NoError(t, err)
			is, err := base.Diff(t.Context(), replayed)
			require.NoError(t, err)
			if tt.left != nil && !strings.Contains(tt.name, "git") {
				assert.Equal(t, string(was.Text), string(is.Text))
			}
			again, _, err := Changes(t.Context(), live, after, 1000, x)
			require.NoError(t, err)
			assert.Equal(t, after, again, "nothing has changed since")
		})
	}
}

func TestLeftOut(t *testing.T) {
	dirs := map[string]bool{"web/[id]/node_modules": true, "node_modules": true}
	for i := range maxSameName + 1 {
		dirs[fmt.Sprintf("p%d/__pycache__", i)] = true
	}
	left := leftOut(dirs, map[string]bool{"*.log": true})
	assert.Equal(t, LeftOut{"**/__pycache__", "*.log", "node_modules", `web/\[id\]/node_modules`}, left)
	assert.True(t, left.Valid())
	assert.False(t, LeftOut{"a["}.Valid())
	for path, kept := range map[string]bool{
		"p3/__pycache__/m.pyc": false, "node_modules": false, "node_modules/x/y": false, "a.log": false,
		"web/[id]/node_modules/x": false, "web/i/node_modules/x": true, "web": true, "node_modules2": true,
		"sub/a.log": true,
	} {
		assert.Equal(t, kept, left.Check(path) == nil, path)
	}
	require.EqualError(t, left.Check("node_modules/x"), "node_modules/x: the cassette does not keep node_modules")
	assert.Equal(t, `a\nb, and more`, LeftOut{"a\nb", "and more"}.String())
	many := LeftOut(strings.Fields("0 1 2 3 4 5 6 7 8 9 a b"))
	assert.Equal(t, "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 2 more", many.String())
	odd := leftOut(map[string]bool{"a\xff/dist": true}, nil)
	assert.Equal(t, LeftOut{"a*/dist"}, odd)
	require.Error(t, odd.Check("a\xff/dist/x"))
	assert.Equal(t, LeftOut{"*.log", "a", "b"}, LeftOut{"a", "*.log"}.Add(LeftOut{"b", "a"}))
}

func TestBiggest(t *testing.T) {
	files := []Entry{
		{Path: "vendor/a/1", Size: 40},
		{Path: "vendor/b/2", Size: 50},
		{Path: "data/deep/down/big.bin", Size: 95},
		{Path: "data/small", Size: 5},
		{Path: "file", Size: 7},
		{Path: "x", Size: 1},
		{Path: "y", Size: 1},
		{Path: "z"},
	}
	assert.Equal(t, []Entry{
		{Path: "data/deep/down/big.bin", Size: 95},
		{Path: "vendor/", Size: 90},
		{Path: "file", Size: 7},
		{Path: "x", Size: 1},
		{Path: "y", Size: 1},
	}, biggest(files, 5))
}

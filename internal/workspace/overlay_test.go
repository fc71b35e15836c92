package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestOverlayIsADirectory makes the same changes in an overlay and in a directory, and reads both in all ways.
func TestOverlayIsADirectory(t *testing.T) {
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			compareWithDirectory(t, rand.New(rand.NewPCG(seed, 1)))
		})
	}
}

func compareWithDirectory(t *testing.T, r *rand.Rand) {
	src := t.TempDir()
	first := randomDelta(r, Manifest{}, 12)
	require.NoError(t, first.Apply(src))
	tmpl, err := Load(t.Context(), Source{Dir: src})
	require.NoError(t, err)
	if r.IntN(2) == 0 { // as if it were too large
		for i := range tmpl.files {
			tmpl.files[i].data, tmpl.files[i].held = nil, false
		}
		tmpl.inMemory = false
	}
	seeds := map[string]Seed{}
	if e, _ := tmpl.base.Lookup("b"); e.Kind != Dir && e.Kind != Symlink {
		seeds["b"] = Seed{Data: []byte("seed")}
	}
	dir := filepath.Join(t.TempDir(), "ws")
	prepared, _, err := tmpl.Prepare(t.Context(), dir, seeds)
	require.NoError(t, err)
	o, _, err := tmpl.Overlay(seeds)
	require.NoError(t, err)
	before := o.Clone()
	for range 4 {
		d := randomDelta(r, o.Manifest(), 4)
		was := o.Manifest()
		if err := o.Apply(d); err != nil {
			require.Equal(t, was, o.Manifest(), "an error changes nothing")
			made := d.Apply(dir)
			require.Error(t, made)
			require.Equal(t, made.Error(), err.Error())
			return
		}
		require.NoError(t, d.Apply(dir))
		compareRead(t, dir, o)
	}
	b := tmpl.Baseline(prepared, seeds)
	after, err := b.Manifest(t.Context(), dir)
	require.NoError(t, err)
	want, err := b.Compare(t.Context(), dir, after)
	require.NoError(t, err)
	got, known, err := o.Diff(t.Context(), before, nil)
	require.NoError(t, err)
	ignored := slices.ContainsFunc(after.Entries, func(e Entry) bool { return e.Ignored })
	require.Equal(t, !ignored, known, "%s", want.Text)
	if known {
		require.Equal(t, want.Files, got.Files)
		require.Equal(t, string(want.Text), string(got.Text))
	}
	again := filepath.Join(t.TempDir(), "again")
	require.NoError(t, o.Write(t.Context(), again))
	compareRead(t, again, o)
}

// randomDelta returns changes that often, not always, can be made.
func randomDelta(r *rand.Rand, m Manifest, n int) Delta {
	paths := []string{"a", "b", "b/x", "b/x/y", "c", "c/a", "c/d", "c/d/e", "f-1", "f/g", "l", ".gitignore"}
	targets := []string{"a", "b", "c/d", "./c//a", "l", "b/x/", "none", "c/../a", "../a", "../l"}
	all := make(map[string]Change)
	for range n {
		c := Change{Path: paths[r.IntN(len(paths))], Op: Added, Kind: []Kind{File, File, File, Dir, Symlink}[r.IntN(5)]}
		e, there := m.Lookup(c.Path)
		if there {
			c.Op = Modified
		}
		switch {
		case there && r.IntN(3) == 0:
			c.Op, c.Kind = Deleted, e.Kind
		case there && e.Kind == File && r.IntN(4) == 0:
			c.Kind, c.ModeOnly, c.Exec = File, true, !e.Exec
		case c.Path == ".gitignore":
			c.Kind, c.Data = File, []byte("c/d\nf/\n")
		case c.Kind == File:
			c.Data, c.Exec = fmt.Append(nil, r.IntN(3), "\n"), r.IntN(3) == 0
		case c.Kind == Symlink:
			if c.Target = targets[r.IntN(len(targets))]; !leadsInside(c.Path, c.Target) {
				continue
			}
		}
		all[c.Path] = c
	}
	var d Delta
	for _, p := range paths {
		if c, ok := all[p]; ok && (m.Entries != nil || !slices.ContainsFunc(d.Changes, func(o Change) bool {
			return o.Kind != Dir && strings.HasPrefix(p, o.Path+"/")
		})) {
			d.Changes = append(d.Changes, c)
		}
	}
	slices.SortFunc(d.Changes, func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
	return d
}

// compareRead reads a directory and an overlay in all ways.
func compareRead(t *testing.T, dir string, o *Overlay) {
	t.Helper()
	s, err := takeSurvey(t.Context(), dir, survey{raw: true})
	require.NoError(t, err)
	require.Equal(t, manifestOf(s.entries).Entries, o.Manifest().Entries)
	disk := OnDisk(dir)
	for _, p := range []string{
		".", "a", "a/z", "b", "b/x", "b/x/y", "c", "c/a", "c/d", "c/d/e", "f-1", "f/g", "l", "l/x", "l/d/e", "none",
		"../a", strings.Repeat("n", maxName+1),
	} {
		compareAt(t, disk, o, p)
	}
}

func compareAt(t *testing.T, disk OnDisk, o *Overlay, p string) {
	t.Helper()
	same := func(want, got fs.FileInfo, wantErr, err error) {
		t.Helper()
		require.Equal(t, class(wantErr), class(err), p)
		if err != nil {
			return
		}
		require.Equal(t, want.Mode().Type(), got.Mode().Type(), p)
		if want.Mode().IsRegular() {
			require.Equal(t, want.Size(), got.Size(), p)
			require.Equal(t, want.Mode()&0o100, got.Mode()&0o100, p)
		}
	}
	want, wantErr := disk.Lstat(p)
	got, err := o.Lstat(p)
	same(want, got, wantErr, err)
	want, wantErr = disk.Stat(p)
	got, err = o.Stat(p)
	same(want, got, wantErr, err)
	if err == nil && want.Mode().IsRegular() {
		data, err := disk.ReadFile(p)
		require.NoError(t, err)
		read, err := o.ReadFile(p)
		require.NoError(t, err)
		require.Equal(t, string(data), string(read))
		f, err := o.Open(p)
		require.NoError(t, err)
		read, err = io.ReadAll(f)
		require.NoError(t, err)
		require.Equal(t, string(data), string(read))
	}
	target, wantErr := disk.ReadLink(p)
	link, err := o.ReadLink(p)
	require.Equal(t, wantErr == nil, err == nil, p)
	require.Equal(t, target, link)
}

// class is what evaluators tell errors apart by.
func class(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, fs.ErrNotExist):
		return "does not exist"
	case errors.Is(err, fs.ErrInvalid):
		return "not a path"
	case errors.Is(err, syscall.ENOTDIR):
		return "below a file"
	case errors.Is(err, syscall.ENAMETOOLONG):
		return "too long"
	case errors.Is(err, syscall.ELOOP):
		return "leads to itself"
	case strings.Contains(err.Error(), "path escapes"):
		return "escapes"
	}
	return err.Error()
}

func TestOverlayIsAFileSystem(t *testing.T) {
	tmpl, err := Load(t.Context(), Source{Dir: writeTree(t, map[string]string{"a/b": "1", "a/c/d": "2", "e": ""})})
	require.NoError(t, err)
	o, _, err := tmpl.Overlay(Seeds(map[string]string{"n/f": "3"}))
	require.NoError(t, err)
	require.NoError(t, fstest.TestFS(o, "a/b", "a/c/d", "e", "n/f"))
}

// TestOverlayTellsOfAnotherTemplate holds that what a workspace was made of is not something else by now.
func TestOverlayTellsOfAnotherTemplate(t *testing.T) {
	dir := writeTree(t, map[string]string{"a": "old", "0": strings.Repeat("x", maxInMemory)})
	tmpl, err := Load(t.Context(), Source{Dir: dir})
	require.NoError(t, err)
	o, _, err := tmpl.Overlay(nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("new"), 0o644))
	_, err = o.ReadFile("a")
	require.ErrorContains(t, err, "its original in "+dir+" has changed since")
	err = o.Write(t.Context(), filepath.Join(t.TempDir(), "ws"))
	assert.ErrorContains(t, err, "a in "+dir+" has changed since it was read")
}

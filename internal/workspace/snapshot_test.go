package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestChanges(t *testing.T) {
	tests := []struct {
		name   string
		before map[string]string
		after  map[string]string
		want   []string
	}{
		{name: "nothing", before: map[string]string{"a": "1", "d/": ""}, after: map[string]string{"a": "1", "d/": ""}},
		{
			name:   "files",
			before: map[string]string{"mod": "1", "del": "1", "same": "1"},
			after:  map[string]string{"mod": "2", "add": "1", "same": "1"},
			want:   []string{`added file add "1"`, `deleted file del`, `modified file mod "2"`},
		},
		{
			name:   "binary and empty files",
			before: map[string]string{"bin": "\x00\xff", "full": "x"},
			after:  map[string]string{"bin": "\x00\xfe\xff", "full": "", "empty": ""},
			want:   []string{`modified file bin "\x00\xfe\xff"`, `added file empty ""`, `modified file full ""`},
		},
		{
			name:   "executable bit",
			before: map[string]string{"on": "x", "off*": "x", "both": "x"},
			after:  map[string]string{"on*": "x", "off": "x", "both*": "y", "new*": "z"},
			want: []string{
				`modified file both "y" x`, `added file new "z" x`, `modified file off exec=false`,
				`modified file on exec=true`,
			},
		},
		{
			name:   "directories have changes only when empty",
			before: map[string]string{"gone/x": "", "left/x": "", "empty/": ""},
			after:  map[string]string{"left/": "", "new/deep/x": "1", "new-empty/deep/": ""},
			want: []string{
				"deleted dir empty", "deleted dir gone", "deleted file gone/x", "deleted file left/x",
				"added dir new-empty/deep",
				`added file new/deep/x "1"`,
			},
		},
		{
			name:   "links",
			before: map[string]string{"l": "-> a", "m": "-> a", "n": "-> a"},
			after:  map[string]string{"l": "-> b", "n": "-> /etc", "o": "-> x", "out": "-> ../.."},
			want: []string{
				"modified symlink l -> b", "deleted symlink m", "deleted symlink n", "added symlink o -> x",
				"added symlink out -> ../.. ignored",
			},
		},
		{
			name:   "kinds",
			before: map[string]string{"fd": "1", "df/x": "1", "fl": "1", "lf": "-> a", "ld": "-> a", "dl/y/": ""},
			after:  map[string]string{"fd/x": "1", "df": "1", "fl": "-> a", "lf": "1", "ld/": "", "dl": "-> a"},
			want: []string{
				`modified file df "1"`, "deleted file df/x", "modified symlink dl -> a", "deleted dir dl/y",
				"modified dir fd", `added file fd/x "1"`,
				"modified symlink fl -> a", "modified dir ld", `modified file lf "1"`,
			},
		},
		{
			name:   "what git ignores is known but not kept, unless it was there before",
			before: map[string]string{".gitignore": "*.log\nout/", "old.log": "1", "out/old": "1", "gone.log": "1"},
			after: map[string]string{
				".gitignore": "*.log\nout/", "old.log": "2", "out/old": "2", "out/new": "1", "d/new.log": "1",
				"d/out/a/b": "1", "d/out/\xff": "",
			},
			want: []string{
				"added dir d", "added file d/new.log ignored", "added dir d/out ignored", "deleted file gone.log",
				`modified file old.log "2"`,
				"added file out/new ignored", `modified file out/old "2"`,
			},
		},
		{
			name:   "git's own directory does not count",
			before: map[string]string{"a": "1"},
			after:  map[string]string{"a": "1", ".git/HEAD": "x", "sub/.git": "gitdir: x", "sub/b": "2"},
			want:   []string{`added file sub/b "2"`},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			replayed := t.TempDir()
			before, _, err := Prepare(t.Context(), Source{Dir: writeTree(t, tt.before)}, replayed)
			require.NoError(t, err)
			live := writeTree(t, tt.after)
			after, d, err := Changes(t.Context(), live, before, 0, nil)
			require.NoError(t, err)
			assert.Equal(t, tt.want, d.lines())
			requireReplays(t, d, replayed, before, after)
		})
	}
}

// requireReplays applies d to dir, which is in the state before, and requires that its state is then after, apart from
// ignored entries.
func requireReplays(t testing.TB, d Delta, dir string, before, after Manifest) {
	t.Helper()
	require.NoError(t, d.Apply(dir))
	s, err := takeSurvey(t.Context(), dir, survey{keep: true, before: after})
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(after.kept(), manifestOf(s.entries)), "-live +replayed, from %v by %v",
		before.lines(), d.lines())
	if predicted, known := d.ApplyTo(before); known {
		require.Empty(t, cmp.Diff(after.kept(), predicted.kept()), "-live +predicted, from %v by %v",
			before.lines(), d.lines())
	}
}

// kept returns what a replay makes of m.
func (m Manifest) kept() (kept Manifest) {
	for _, e := range m.Entries {
		if !e.Ignored {
			kept.Entries = append(kept.Entries, e)
		}
	}
	return kept
}

func TestIgnoredTreesBetweenTurns(t *testing.T) {
	dir := writeTree(t, map[string]string{".gitignore": "out/\n", "a": "1"})
	turn := func(before Manifest, edit func()) (Manifest, []string) {
		t.Helper()
		edit()
		after, d, err := Changes(t.Context(), dir, before, 0, nil)
		require.NoError(t, err)
		return after, d.lines()
	}
	write := func(p, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, p)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, p), []byte(text), 0o644))
	}
	m, err := Snapshot(t.Context(), dir)
	require.NoError(t, err)
	m, got := turn(m, func() { write("out/x", "1") })
	assert.Equal(t, []string{"added dir out ignored"}, got)
	m, got = turn(m, func() {})
	assert.Empty(t, got)
	m, got = turn(m, func() { write("out/x", "2") })
	assert.Equal(t, []string{"modified dir out ignored"}, got)
	m, got = turn(m, func() { write(".gitignore", "") })
	assert.Equal(t, []string{`modified file .gitignore ""`, `added file out/x "2"`}, got)
	m, got = turn(m, func() { write(".gitignore", "out/") })
	assert.Equal(t, []string{`modified file .gitignore "out/"`}, got, "what was kept stays kept")
	m, got = turn(m, func() { require.NoError(t, os.RemoveAll(filepath.Join(dir, "out"))) })
	assert.Equal(t, []string{"deleted dir out", "deleted file out/x"}, got)
	_, got = turn(m, func() { write("out/y", "3") })
	assert.Equal(t, []string{"added dir out ignored"}, got)
}

func TestSnapshotCollapsesIgnored(t *testing.T) {
	dir := writeTree(t, map[string]string{
		".gitignore": "/nm\n*.o", "nm/a/b": "12", "nm/c": "3",
		"x.o": "4", "l": "-> ../x",
	})
	m, err := Snapshot(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, []string{
		fmt.Sprintf("file .gitignore 7 %.6s", digest([]byte("/nm\n*.o"))),
		"symlink l -> ../x ignored", "dir nm ignored",
		fmt.Sprintf("file x.o 1 %.6s ignored", digest([]byte("4"))),
	}, m.lines())
	nm, _ := m.Lookup("nm")
	assert.EqualValues(t, 3, nm.Size)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "nm/c"), []byte("4"), 0o644))
	m, err = Snapshot(t.Context(), dir)
	require.NoError(t, err)
	changed, _ := m.Lookup("nm")
	assert.NotEqual(t, nm.Digest, changed.Digest)
}

func TestChangesTooLarge(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"small": "x", "big": strings.Repeat("b", 3000), "bigger": strings.Repeat("c", 4000),
		"same": strings.Repeat("d", 9000),
	})
	before, err := Snapshot(t.Context(), writeTree(t, map[string]string{"same": strings.Repeat("d", 9000)}))
	require.NoError(t, err)
	_, _, err = Changes(t.Context(), dir, before, 7001, nil)
	require.NoError(t, err)
	_, _, err = Changes(t.Context(), dir, before, 7000, nil)
	var tooLarge *TooLargeError
	require.ErrorAs(t, err, &tooLarge)
	assert.Equal(t,
		"changed files have 6.8 KiB, which exceeds the limit of 6.8 KiB (cassette.max_delta); the largest:"+
			" bigger (3.9 KiB), big (2.9 KiB), small (1 bytes)", err.Error())
}

func TestSnapshotErrors(t *testing.T) {
	t.Run("invalid file name", func(t *testing.T) {
		_, err := Snapshot(t.Context(), writeTree(t, map[string]string{"a\xff": ""}))
		var name *nameError
		require.ErrorAs(t, err, &name)
		assert.Equal(t, "a\xff", name.Path)
	})
	t.Run("huge ignore file", func(t *testing.T) {
		_, err := Snapshot(t.Context(),
			writeTree(t, map[string]string{".gitignore": strings.Repeat("x\n", maxIgnoreFile)}))
		require.ErrorContains(t, err, ".gitignore exceeds the limit of 1.0 MiB")
	})
	t.Run("missing", func(t *testing.T) {
		_, err := Snapshot(t.Context(), filepath.Join(t.TempDir(), "nix"))
		require.ErrorIs(t, err, os.ErrNotExist)
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, err := Snapshot(ctx, t.TempDir())
		require.ErrorIs(t, err, context.Canceled)
	})
}

// A file that changes between being listed and having been read makes the reading start again.
func TestUnstable(t *testing.T) {
	dir := writeTree(t, map[string]string{"f": strings.Repeat("x", 10)})
	appendTo := func(text string) {
		f, err := os.OpenFile(filepath.Join(dir, "f"), os.O_APPEND|os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = io.WriteString(f, text)
		require.NoError(t, errors.Join(err, f.Close()))
	}
	tests := []struct {
		name string
		edit func()
	}{
		{"grows", func() { appendTo("y") }},
		{"overwritten", func() {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), bytes.Repeat([]byte("z"), 11), 0o644))
			require.NoError(t, os.Chtimes(filepath.Join(dir, "f"), time.Time{}, time.Unix(1e9, 0)))
		}},
		{"replaced", func() {
			require.NoError(t, os.WriteFile(filepath.Join(dir, "g"), bytes.Repeat([]byte("z"), 11), 0o644))
			require.NoError(t, os.Rename(filepath.Join(dir, "g"), filepath.Join(dir, "f")))
		}},
		{"deleted", func() { require.NoError(t, os.Remove(filepath.Join(dir, "f"))) }},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tr, err := openTree(t.Context(), dir)
			require.NoError(t, err)
			defer tr.close()
			f, err := tr.open("f")
			require.NoError(t, err)
			tt.edit()
			_, err = tr.stableEntry(f, io.Discard)
			var unstable *unstableError
			require.ErrorAs(t, err, &unstable)
			assert.Equal(t, "f keeps changing while the workspace is read: a process is still writing to it",
				err.Error())
		})
	}
}

// meddler is a context that does something each time it is asked whether it is done.
type meddler struct {
	context.Context
	meddle func()
}

func (m meddler) Err() error { m.meddle(); return nil }

func TestSnapshotReadsAgain(t *testing.T) {
	dir := writeTree(t, map[string]string{"f": strings.Repeat("x", 2*chunk)})
	times := 0
	appending := func(max int) context.Context {
		times = 0
		return meddler{t.Context(), func() {
			if times++; times <= max {
				require.NoError(t, os.Truncate(filepath.Join(dir, "f"), int64(2*chunk+times)))
			}
		}}
	}
	m, err := Snapshot(appending(4), dir)
	require.NoError(t, err)
	assert.EqualValues(t, 2*chunk+4, m.Entries[0].Size)
	_, err = Snapshot(appending(1000), dir)
	var unstable *unstableError
	require.ErrorAs(t, err, &unstable)
	assert.Less(t, times, 100, "it gives up")
	_, _, err = Prepare(appending(1000), Source{Dir: dir}, t.TempDir())
	require.ErrorAs(t, err, &unstable)
}

// TestReplayProperty makes random edits in several turns and requires that the deltas lead to the same workspace.
func TestReplayProperty(t *testing.T) {
	for seed := range uint64(25) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			rng := rand.New(rand.NewPCG(seed, 0))
			source, live, replayed := t.TempDir(), t.TempDir(), t.TempDir()
			for range 15 {
				randomEdit(t, rng, source)
			}
			if seed%2 == 0 {
				require.NoError(t, os.RemoveAll(filepath.Join(source, ".gitignore")))
			}
			tpl, err := Load(t.Context(), Source{Dir: source})
			require.NoError(t, err)
			m, _, err := tpl.Prepare(t.Context(), live, nil)
			require.NoError(t, err)
			same, _, err := tpl.Prepare(t.Context(), replayed, nil)
			require.NoError(t, err)
			require.Equal(t, m, same)
			base, predicted, known := tpl.Baseline(m, nil), m, true
			for range 4 {
				for range 8 {
					randomEdit(t, rng, live)
				}
				if seed%2 == 0 { // else what comes of a delta could hardly ever be predicted
					require.NoError(t, os.RemoveAll(filepath.Join(live, ".gitignore")))
				}
				after, d, err := Changes(t.Context(), live, m, 0, nil)
				require.NoError(t, err)
				requireReplays(t, d, replayed, m, after)
				m = after
				if known {
					predicted, known = d.ApplyTo(predicted)
				}
				if !known {
					continue
				}
				want, err := base.Diff(t.Context(), replayed)
				require.NoError(t, err)
				got, err := base.Compare(t.Context(), replayed, predicted)
				require.NoError(t, err)
				require.Equal(t, string(want.Text), string(got.Text))
				require.Equal(t, want, got)
			}
		})
	}
}

func randomEdit(t *testing.T, rng *rand.Rand, dir string) {
	t.Helper()
	names := []string{"a", "b", "a-", "x.log", "é", "n\nl"}
	p := names[rng.IntN(len(names))]
	for range rng.IntN(3) {
		p = path.Join(p, names[rng.IntN(len(names))])
	}
	full := filepath.Join(dir, filepath.FromSlash(p))
	for up := path.Dir(p); up != "."; up = path.Dir(up) { // a file or link in the way goes
		at := filepath.Join(dir, filepath.FromSlash(up))
		if info, err := os.Lstat(at); err == nil && !info.IsDir() {
			require.NoError(t, os.Remove(at))
		}
	}
	clear := func() {
		require.NoError(t, os.RemoveAll(full))
		require.NoError(t, os.MkdirAll(filepath.Dir(full), 0o755))
	}
	switch rng.IntN(10) {
	case 0:
		require.NoError(t, os.RemoveAll(full))
	case 1:
		clear()
		require.NoError(t, os.MkdirAll(full, 0o755))
	case 2:
		clear()
		targets := []string{"a", "../a", "b/x.log", "../../b", "/etc", ".."}
		require.NoError(t, os.Symlink(targets[rng.IntN(len(targets))], full))
	case 3:
		if info, err := os.Lstat(full); err == nil && info.Mode().IsRegular() {
			require.NoError(t, os.Chmod(full, info.Mode()^0o111))
		}
	case 4:
		ignores := []string{"*.log\n", "", "a/*\n!a/b\n", "b/\n"}
		require.NoError(t, os.WriteFile(filepath.Join(dir, ".gitignore"),
			[]byte(ignores[rng.IntN(len(ignores))]), 0o644))
	default:
		clear()
		data := make([]byte, rng.IntN(3)*rng.IntN(50))
		for i := range data {
			data[i] = byte(rng.IntN(256))
		}
		require.NoError(t, os.WriteFile(full, data, []os.FileMode{0o644, 0o755}[rng.IntN(2)]))
	}
}

// TestChangesSparse has a file that is too large to be read: it is refused by its size.
func TestChangesSparse(t *testing.T) {
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "sparse"))
	require.NoError(t, err)
	require.NoError(t, f.Truncate(1<<42))
	require.NoError(t, f.Close())
	_, _, err = Changes(t.Context(), dir, Manifest{}, 0, nil)
	var large *TooLargeError
	require.ErrorAs(t, err, &large)
	require.Equal(t, int64(1<<42), large.Total)
	require.Equal(t, "sparse", large.Biggest[0].Path)
}

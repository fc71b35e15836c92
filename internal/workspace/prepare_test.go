package workspace

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPrepare(t *testing.T) {
	key := "-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n"
	tests := []struct {
		name   string
		source map[string]string
		src    Source
		want   map[string]string
		notes  []Note
	}{
		{
			name: "contents, executable bits, empty files and directories, links inside",
			source: map[string]string{
				"a.txt": "a", "run.sh*": "#!/bin/sh\n", "empty": "", "d/e/": "", "bin.dat": "\x00\xff\n",
				"l": "-> d/e", "d/up": "-> ../a.txt", "gone": "-> nowhere", "odd\nname é": "x", ".gitignore": "a.txt",
			},
			want: map[string]string{
				"a.txt": "a", "run.sh*": "#!/bin/sh\n", "empty": "", "d/": "", "d/e/": "", "bin.dat": "\x00\xff\n",
				"l": "-> d/e", "d/up": "-> ../a.txt", "gone": "-> nowhere", "odd\nname é": "x", ".gitignore": "a.txt",
			},
		},
		{
			name: "directories of tools are left out, files of that name are not",
			source: map[string]string{
				".git/config": "", ".llman/x": "", "target/x": "", "web/node_modules/x/y": "",
				".venv/x": "", "dist/x": "",
				"sub/build/x": "", "tools/build": "a file", "sub/.git": "gitdir: ../..",
			},
			want: map[string]string{"web/": "", "sub/": "", "tools/": "", "tools/build": "a file"},
			notes: []Note{
				{".git", listed},
				{".llman", listed},
				{".venv", listed},
				{"dist", listed},
				{"sub/.git", "file .git that points to another directory"},
				{"sub/build", listed},
				{"target", listed},
				{"web/node_modules", listed},
			},
		},
		{
			name:   "include names a directory",
			source: map[string]string{"dist/a/b": "1", "dist/node_modules/x": "2", "x/dist/c": "3"},
			src:    Source{Include: []string{"dist"}},
			want:   map[string]string{"dist/": "", "dist/a/": "", "dist/a/b": "1", "x/": ""},
			notes:  []Note{{"dist/node_modules", listed}, {"x/dist", listed}},
		},
		{
			name: "include names files in directories",
			source: map[string]string{
				"node_modules/a/x.js": "1", "node_modules/a/y.ts": "2",
				"node_modules/b/x.js": "3", "node_modules/c/": "",
			},
			src: Source{Include: []string{"./node_modules/*/x.js"}},
			want: map[string]string{
				"node_modules/": "", "node_modules/a/": "", "node_modules/a/x.js": "1", "node_modules/b/": "",
				"node_modules/b/x.js": "3",
			},
		},
		{
			name:   "wildcards alone name nothing",
			source: map[string]string{"node_modules/x": "1", ".env": "A=1", "a": "2"},
			src:    Source{Include: []string{"**", "*", "**/*", "**/x"}},
			want:   map[string]string{"a": "2"},
			notes:  []Note{{".env", "looks like a secret by its name"}, {"node_modules", listed}},
		},
		{
			name: "secrets are left out, by name and by content",
			source: map[string]string{
				".env": "", ".env.local": "", ".npmrc": "", ".pypirc": "", "a/.netrc": "", "a/ID_RSA": "",
				"id_rsa.pub": "public",
				"x.p12":      "", "cert.pem": "-----BEGIN CERTIFICATE-----\n", "key.pem": key,
				"deploy": "\n" + key, "env": "",
			},
			want: map[string]string{
				"a/": "", "id_rsa.pub": "public",
				"cert.pem": "-----BEGIN CERTIFICATE-----\n", "env": "",
			},
			notes: []Note{
				{".env", secret},
				{".env.local", secret},
				{".npmrc", secret},
				{".pypirc", secret},
				{"a/.netrc", secret},
				{"a/ID_RSA", secret},
				{"deploy", "looks like a private key by its content"},
				{"key.pem", "looks like a private key by its content"},
				{"x.p12", secret},
			},
		},
		{
			name:   "include names secrets",
			source: map[string]string{".env": "A=1", "sub/.env.test": "B=2", "key.pem": key},
			src:    Source{Include: []string{".env", "**/.env.*", "key.pem"}},
			want:   map[string]string{".env": "A=1", "sub/": "", "sub/.env.test": "B=2", "key.pem": key},
		},
		{
			name:   "exclude wins over include",
			source: map[string]string{"a/x.log": "", "a/y": "", "dist/z": "", "bad\xff": ""},
			src:    Source{Include: []string{"dist/**"}, Exclude: []string{"**/*.log", "dist", "bad*"}},
			want:   map[string]string{"a/": "", "a/y": ""},
		},
		{
			name: "links that lead outside, or may, are left out",
			source: map[string]string{
				"abs": "-> /etc/passwd", "up": "-> ../x", "d/up": "-> ../../x", "sneaky": "-> d/in/../../x",
				"d/in": "-> ..", "d/e/": "",
			},
			want: map[string]string{"d/": "", "d/in": "-> ..", "d/e/": ""},
			notes: []Note{
				{"abs", outside + "/etc/passwd"},
				{"d/up", outside + "../../x"},
				{"sneaky", outside + "d/in/../../x"},
				{"up", outside + "../x"},
			},
		},
		{
			name:   "seed files",
			source: map[string]string{"a": "old", "run*": "old"},
			src:    Source{Files: map[string]string{"a": "new", "run": "new", "x/y/z": "deep", ".env": "asked for"}},
			want: map[string]string{
				"a": "new", "run*": "new", "x/": "", "x/y/": "",
				"x/y/z": "deep", ".env": "asked for",
			},
		},
		{
			name: "git's directory is copied when named but no part of the workspace",
			source: map[string]string{
				".git/HEAD": "ref", "a": "1",
			},
			src:  Source{Include: []string{".git/**"}},
			want: map[string]string{".git/": "", ".git/HEAD": "ref", "a": "1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.src.Dir = writeTree(t, tt.source)
			dst := filepath.Join(t.TempDir(), "ws")
			m, notes, err := Prepare(t.Context(), tt.src, dst)
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(tt.want, readTree(t, dst)), "-want +got")
			assert.Equal(t, tt.notes, notes)
			all, err := takeSurvey(t.Context(), dst, survey{keep: true, before: m})
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(manifestOf(all.entries), m), "-in the workspace +in the manifest")

			tmpl, err := Load(t.Context(), tt.src)
			require.NoError(t, err)
			dst = t.TempDir()
			loaded, loadedNotes, err := tmpl.Prepare(t.Context(), dst, Seeds(tt.src.Files))
			require.NoError(t, err)
			assert.Empty(t, cmp.Diff(tt.want, readTree(t, dst)), "-want +got from a template")
			assert.Equal(t, m, loaded)
			assert.Equal(t, notes, loadedNotes)
		})
	}
}

const (
	listed  = "not copied by default"
	secret  = "looks like a secret by its name"
	outside = "symbolic link that may lead outside: "
)

func TestPrepareErrors(t *testing.T) {
	tests := []struct {
		name   string
		source map[string]string
		src    Source
		want   string
	}{
		{name: "bad glob", src: Source{Include: []string{"[a"}}, want: `include "[a": syntax error in pattern`},
		{
			name: "glob outside", src: Source{Exclude: []string{"../x"}},
			want: `exclude "../x": the path is not below the workspace`,
		},
		{
			name: "invalid file name", source: map[string]string{"d/\xff": ""},
			want: `file name "d/\xff" is not valid UTF-8`,
		},
		{
			name: "seed outside", src: Source{Files: map[string]string{"../x": ""}},
			want: `"../x" is not a path below the workspace`,
		},
		{
			name: "seed through a link", source: map[string]string{"d/": "", "l": "-> d"},
			src:  Source{Files: map[string]string{"l/x": ""}},
			want: "l is a symlink, not a dir",
		},
		{
			name: "seed in place of a link", source: map[string]string{"l": "-> x"},
			src:  Source{Files: map[string]string{"l": ""}},
			want: "seed file l: in the source this path is a symlink",
		},
		{
			name: "seed below a file", source: map[string]string{"f": ""},
			src: Source{Files: map[string]string{"f/x": ""}}, want: "f is a file, not a dir",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.src.Dir = writeTree(t, tt.source)
			_, _, err := Prepare(t.Context(), tt.src, t.TempDir())
			require.ErrorContains(t, err, tt.want)
		})
	}
	t.Run("not empty", func(t *testing.T) {
		_, _, err := Prepare(t.Context(), Source{}, writeTree(t, map[string]string{"x": ""}))
		require.ErrorContains(t, err, "is not empty")
	})
	t.Run("no source", func(t *testing.T) {
		_, _, err := Prepare(t.Context(), Source{Dir: filepath.Join(t.TempDir(), "nix")}, t.TempDir())
		require.ErrorIs(t, err, os.ErrNotExist)
	})
	t.Run("cancelled", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		_, _, err := Prepare(ctx, Source{Dir: t.TempDir()}, t.TempDir())
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestPrepareIntoItsOwnSource(t *testing.T) {
	dir := writeTree(t, map[string]string{"a": "1", "runs/ws/": ""})
	_, _, err := Prepare(t.Context(), Source{Dir: dir}, filepath.Join(dir, "runs", "ws"))
	require.NoError(t, err)
	assert.Equal(t, map[string]string{"a": "1", "runs/": "", "runs/ws/": ""},
		readTree(t, filepath.Join(dir, "runs", "ws")))
}

// Many files are copied by several goroutines, and files over the chunk size piece by piece.
func TestPrepareLargeTree(t *testing.T) {
	files := map[string]string{
		"big":   strings.Repeat("0123456789abcdef", chunk/8+1),
		"exact": strings.Repeat("x", chunk),
	}
	for i := range 300 {
		files[fmt.Sprintf("d%d/f%d", i%7, i)] = strings.Repeat("y", i)
	}
	dst := t.TempDir()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	m, notes, err := Prepare(t.Context(), Source{Dir: writeTree(t, files)}, dst)
	require.NoError(t, err)
	assert.Empty(t, notes)
	for i := range 7 {
		files[fmt.Sprintf("d%d/", i)] = ""
	}
	assert.Empty(t, cmp.Diff(files, readTree(t, dst)))
	snapshot, err := Snapshot(t.Context(), dst)
	require.NoError(t, err)
	assert.Equal(t, snapshot, m)
	big, ok := m.Lookup("big")
	assert.True(t, ok)
	assert.Equal(t, Entry{
		Path: "big", Kind: File, Size: int64(len(files["big"])),
		Digest: digest([]byte(files["big"])),
	}, big)
}

func TestManifestDigest(t *testing.T) {
	base := map[string]string{"a": "1", "d/b": "2", "l": "-> a"}
	of := func(files map[string]string) string {
		m, _, err := Prepare(t.Context(), Source{Dir: writeTree(t, files)}, t.TempDir())
		require.NoError(t, err)
		return m.Digest()
	}
	want := of(base)
	tests := []struct {
		name  string
		files map[string]string
		same  bool
	}{
		{"same files", map[string]string{"a": "1", "d/b": "2", "l": "-> a"}, true},
		{"an empty directory more", map[string]string{"a": "1", "d/b": "2", "l": "-> a", "e/": ""}, true},
		{"content", map[string]string{"a": "2", "d/b": "2", "l": "-> a"}, false},
		{"executable bit", map[string]string{"a*": "1", "d/b": "2", "l": "-> a"}, false},
		{"name", map[string]string{"a": "1", "d/c": "2", "l": "-> a"}, false},
		{"link", map[string]string{"a": "1", "d/b": "2", "l": "-> d"}, false},
		{"missing", map[string]string{"a": "1", "d/b": "2"}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { assert.Equal(t, tt.same, of(tt.files) == want) })
	}
}

func TestTemplateHoldsItsSource(t *testing.T) {
	tests := []struct {
		name string
		size int
		want string
	}{
		{name: "small", size: 10, want: "old"},
		{name: "as large as may be", size: maxInMemory - 3, want: "old"},
		{name: "no room for it", size: maxInMemory - 2, want: "new"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			dir := writeTree(t, map[string]string{"a": "old", "0": strings.Repeat("x", tt.size)})
			tmpl, err := Load(t.Context(), Source{Dir: dir})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("new"), 0o644))
			dst := t.TempDir()
			m, _, err := tmpl.Prepare(t.Context(), dst, nil)
			require.NoError(t, err)
			got, err := os.ReadFile(filepath.Join(dst, "a"))
			require.NoError(t, err)
			assert.Equal(t, tt.want, string(got))
			a, _ := m.Lookup("a")
			assert.Equal(t, digest(got), a.Digest)
		})
	}
}

// TestTemplateIsSearchedOnce: what is read is searched then, and only what is long is read again, however many files
// and goroutines there are.
func TestTemplateIsSearchedOnce(t *testing.T) {
	long := strings.Repeat("x", chunk+1)
	files := map[string]string{"long": long}
	for i := range 300 {
		files[fmt.Sprintf("d%d/f%d", i/100, i)] = fmt.Sprint("text ", i)
	}
	var mu sync.Mutex
	seen := make(map[string]int)
	look := func(content []byte) {
		mu.Lock()
		defer mu.Unlock()
		seen[string(content)]++
	}
	tmpl, err := Load(t.Context(), Source{Dir: writeTree(t, files), Search: look})
	require.NoError(t, err)
	require.Equal(t, 300, len(seen))
	require.True(t, tmpl.Each(t.Context(), false, look))
	for p, text := range files {
		require.Equal(t, 1, seen[text], p)
		require.Equal(t, 1, seen[p], p)
	}
	require.True(t, tmpl.Each(t.Context(), true, look))
	require.Equal(t, 2, seen["text 7"])
	require.Equal(t, 2, seen[long])
}

func TestOverlayIsAsPrepared(t *testing.T) {
	src := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(src, "a", "empty"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(src, "a", "run.sh"), []byte("#!/bin/sh\n"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(src, ".env"), []byte("X=1\n"), 0o644))
	require.NoError(t, os.Symlink("run.sh", filepath.Join(src, "a", "link")))
	seeds := map[string]string{"a/run.sh": "exit 1\n", "new/file": "text"}

	template, err := Load(t.Context(), Source{Dir: src})
	require.NoError(t, err)
	predicted, notes, err := template.Overlay(Seeds(seeds))
	require.NoError(t, err)
	made, left, err := template.Prepare(t.Context(), filepath.Join(t.TempDir(), "ws"), Seeds(seeds))
	require.NoError(t, err)
	require.Equal(t, made, predicted.Manifest())
	require.Equal(t, left, notes)

	_, _, err = template.Overlay(Seeds(map[string]string{"a": "a file where a directory is"}))
	require.ErrorContains(t, err, "seed file a")
}

package bundle_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/cmd/sdd-eval-scale/internal/bundle"
)

func write(t *testing.T, dir, name, text string, mode fs.FileMode) {
	t.Helper()
	file := filepath.Join(dir, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), mode))
}

func TestRoundTrip(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	write(t, from, "a.txt", "a", 0o644)
	write(t, from, "d/e/run.sh", "#!/bin/sh\n", 0o755)
	require.NoError(t, os.Symlink("../a.txt", filepath.Join(from, "d", "link")))
	names, err := bundle.Files(from, nil)
	require.NoError(t, err)
	require.Equal(t, []string{"a.txt", "d/e/run.sh", "d/link"}, names)
	data, skipped, err := bundle.Pack(from, append(names, "a.txt"), false, nil)
	require.NoError(t, err)
	require.Empty(t, skipped)
	require.NoError(t, bundle.Unpack(data, to))
	text, err := os.ReadFile(filepath.Join(to, "d", "link"))
	require.NoError(t, err)
	require.Equal(t, "a", string(text))
	info, err := os.Stat(filepath.Join(to, "d", "e", "run.sh"))
	require.NoError(t, err)
	require.NotZero(t, info.Mode()&0o100)

	again, _, err := bundle.Pack(to, names, false, nil)
	require.NoError(t, err)
	require.Equal(t, data, again, "the same files, the same bytes")

	_, _, err = bundle.Pack(from, names, false, func(name string, _ []byte) error {
		if name == "d/e/run.sh" {
			return errors.New("no programs")
		}
		return nil
	})
	require.ErrorContains(t, err, "run.sh: no programs")
}

func TestPackRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "a", "a", 0o644)
	for name, target := range map[string]string{
		"absolute": "/etc/passwd", "above": "../x", "down-and-up": "d/../../x", "unclean": "./a",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
		_, _, err := bundle.Pack(dir, []string{"a", name}, false, nil)
		require.ErrorContains(t, err, "neither a regular file nor a link to a place in the same tree", name)
		_, skipped, err := bundle.Pack(dir, []string{"a", name}, true, nil)
		require.NoError(t, err)
		require.Equal(t, []string{name}, skipped)
	}
	_, _, err := bundle.Pack(dir, []string{"../a"}, false, nil)
	require.Error(t, err)
	_, _, err = bundle.Pack(dir, []string{"none"}, true, nil)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// archive returns an archive with these entries.
func archive(t testing.TB, entries ...tar.Header) []byte {
	t.Helper()
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	for _, h := range entries {
		h.Mode = 0o644
		require.NoError(t, w.WriteHeader(&h))
		_, err := w.Write(bytes.Repeat([]byte("x"), int(h.Size)))
		require.NoError(t, err)
	}
	require.NoError(t, w.Close())
	require.NoError(t, zip.Close())
	return out.Bytes()
}

func file(name string) tar.Header { return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 3} }

func link(name, target string) tar.Header {
	return tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target}
}

// hostile are archives that nobody packed, with what is said of them.
func hostile(t testing.TB) map[string][]byte {
	cut := archive(t, file("a"))
	return map[string][]byte{
		`the name "../a" is not a path`:             archive(t, file("../a")),
		`the name "/a" is not a path`:               archive(t, file("/a")),
		`the name "a/../../b" is not a path`:        archive(t, file("a/../../b")),
		`"a" is there twice`:                        archive(t, file("a"), file("a")),
		`"d" is there twice`:                        archive(t, file("d/a"), link("d", "a")),
		`"d" is there as a file and as a directory`: archive(t, link("d", "e"), file("d/a")),
		`"l" is a link to "/etc", which is`:         archive(t, link("l", "/etc")),
		`"l" is a link to "..", which is`:           archive(t, link("l", "..")),
		`"m" is a link to "d/l/../..", which`:       archive(t, link("d/l", ".."), link("m", "d/l/../..")),
		`"p" is neither a regular file nor a l`:     archive(t, tar.Header{Typeflag: tar.TypeFifo, Name: "p"}),
		`"h" is neither a regular file`: archive(t, tar.Header{
			Typeflag: tar.TypeLink, Name: "h", Linkname: "/etc/passwd",
		}),
		"unexpected EOF":       cut[:len(cut)-9],
		"gzip: invalid header": []byte("PK\x03\x04 and so on"),
	}
}

func TestUnpackRefuses(t *testing.T) {
	for want, data := range hostile(t) {
		above := t.TempDir()
		dir := filepath.Join(above, "in")
		require.NoError(t, os.Mkdir(dir, 0o755))
		require.ErrorContains(t, bundle.Unpack(data, dir), want)
		entries, err := os.ReadDir(above)
		require.NoError(t, err)
		require.Len(t, entries, 1, "nothing is written outside")
	}
}

// TestUnpackBombs: what is small in an archive and large outside of it is refused before it is written.
func TestUnpackBombs(t *testing.T) {
	var out bytes.Buffer
	zip := gzip.NewWriter(&out)
	w := tar.NewWriter(zip)
	require.NoError(t, w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "a", Size: 1 << 40, Mode: 0o644}))
	require.NoError(t, zip.Close())
	dir := t.TempDir()
	require.ErrorContains(t, bundle.Unpack(out.Bytes(), dir), "more than 1073741824 bytes")
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, entries)
}

func FuzzUnpack(f *testing.F) {
	for _, data := range hostile(f) {
		f.Add(data)
	}
	f.Add(archive(f, file("a"), file("d/b"), link("d/l", "../a")))
	f.Fuzz(func(t *testing.T, data []byte) {
		above := t.TempDir()
		dir := filepath.Join(above, "in")
		require.NoError(t, os.Mkdir(dir, 0o755))
		if bundle.Unpack(data, dir) != nil {
			return
		}
		require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Type()&fs.ModeSymlink != 0 {
				real, err := filepath.EvalSymlinks(path)
				require.True(t, err != nil || strings.HasPrefix(real, dir), "%s leads to %s", path, real)
			}
			return err
		}))
		entries, err := os.ReadDir(above)
		require.NoError(t, err)
		require.Len(t, entries, 1)
	})
}

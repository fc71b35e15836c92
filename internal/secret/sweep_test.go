package secret_test

import (
	"context"
	"encoding/base64"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// tree writes files below a new directory. Their names have slashes.
func tree(t *testing.T, files map[string]string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

func TestSweep(t *testing.T) {
	var s secret.Set
	s.Mark("A", "first-secret")
	s.Mark("B", "second-secret")
	s.Mark("C", "third\nsecret")
	s.Mark("D", "uQ_")
	filler := strings.Repeat("x", 64<<10-5) // the secret after it is in two pieces as a file is read
	dir := tree(t, map[string]string{
		"clean":                     "[REDACTED:A] " + "sk-" + "test-0123456789abcdef01234567",
		"empty":                     "",
		"a/two":                     "first-secret second-secret first-secret",
		"a/encoded":                 base64.StdEncoding.EncodeToString([]byte("x first-secret")),
		"b/cut":                     filler + "first-secret",
		"b/word":                    filler + "-xuQ_ x", // the first 64 KiB do not end with a whole word
		"b/at-the-end":              filler + filler + "\nthird\nsecret",
		"c-first-secret-d/file":     "clean",
		"c-first-secret-d/e/second": "second-secret",
		"z-second-secret":           "",
	})
	got, err := s.Sweep(t.Context(), dir)
	require.NoError(t, err)
	assert.Equal(t, []secret.Finding{
		{Path: "a/encoded", Offset: 3, Name: "A"},
		{Path: "a/two", Offset: 0, Name: "A"},
		{Path: "a/two", Offset: 13, Name: "B"},
		{Path: "b/at-the-end", Offset: int64(2*len(filler) + 1), Name: "C"},
		{Path: "b/cut", Offset: int64(len(filler)), Name: "A"},
		{Path: "c-[REDACTED:A]-d", Offset: -1, Name: "A"},
		{Path: "c-[REDACTED:A]-d/e/second", Offset: 0, Name: "B"},
		{Path: "z-[REDACTED:B]", Offset: -1, Name: "B"},
	}, got)
	assert.Equal(t, "a/two: B at offset 13", got[2].String())
	assert.Equal(t, "z-[REDACTED:B]: its name contains B", got[7].String())
}

func TestSweepFollowsNoLinks(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("links need a privilege there")
	}
	var s secret.Set
	s.Mark("A", "first-secret")
	outside := tree(t, map[string]string{"file": "first-secret"})
	dir := tree(t, map[string]string{"file": "clean"})
	for name, target := range map[string]string{
		"to-file": outside + "/file", "to-dir": outside, "loop": ".", "nowhere": "/first-secret/nowhere",
	} {
		require.NoError(t, os.Symlink(target, filepath.Join(dir, name)))
	}
	require.NoError(t, os.Symlink(dir, filepath.Join(outside, "dir")))
	for _, dir := range []string{dir, filepath.Join(outside, "dir")} { // the directory itself may be named by a link
		got, err := s.Sweep(t.Context(), dir)
		require.NoError(t, err)
		assert.Equal(t, []secret.Finding{{Path: "nowhere", Offset: -1, Name: "A"}}, got)
	}
}

func TestSweepErrors(t *testing.T) {
	var s secret.Set
	s.Mark("A", "first-secret")
	_, err := s.Sweep(t.Context(), filepath.Join(t.TempDir(), "first-secret"))
	require.ErrorIs(t, err, os.ErrNotExist)
	assert.NotContains(t, err.Error(), "first-secret")

	dir := tree(t, map[string]string{"file": "first-secret"})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = s.Sweep(ctx, dir)
	require.ErrorIs(t, err, context.Canceled)
}

func TestSweepReportsSoMuch(t *testing.T) {
	var s secret.Set
	s.Mark("A", "first-secret")
	dir := t.TempDir()
	for i := range 1100 {
		name := filepath.Join(dir, strings.Repeat("x", i%40+1)+string(rune('a'+i/40)))
		require.NoError(t, os.WriteFile(name, []byte("first-secret"), 0o644))
	}
	got, err := s.Sweep(t.Context(), dir)
	require.ErrorContains(t, err, "found more than the 1000 places")
	assert.Len(t, got, 1000)
}

func TestScrub(t *testing.T) {
	var s secret.Set
	s.Mark("A", "first-secret")
	dir := tree(t, map[string]string{
		"clean":                         "clean",
		"file":                          strings.Repeat("x", 200_000) + "first-secret",
		"d-first-secret/e-first-secret": "first-secret",
		"[REDACTED:A]":                  "in the way",
		"first-secret":                  "renamed",
		".scrub":                        "in the way",
	})
	other := filepath.Join(t.TempDir(), "other")
	link := runtime.GOOS != "windows"
	if link {
		require.NoError(t, os.Link(filepath.Join(dir, "file"), other))
		require.NoError(t, os.Chmod(filepath.Join(dir, "file"), 0o750))
		require.NoError(t, os.Symlink("/first-secret", filepath.Join(dir, "link")))
	}
	got, err := s.Scrub(t.Context(), dir, nil)
	require.NoError(t, err)
	assert.Contains(t, got, secret.Finding{Path: "d-[REDACTED:A]/e-[REDACTED:A]", Offset: 0, Name: "A"})
	left, err := s.Sweep(t.Context(), dir)
	require.NoError(t, err)
	assert.Empty(t, left)
	for name, want := range map[string]string{
		"clean": "clean", "file": strings.Repeat("x", 200_000) + "[REDACTED:A]",
		"d-[REDACTED:A]/e-[REDACTED:A]": "[REDACTED:A]", "[REDACTED:A]": "in the way", "[REDACTED:A]-2": "renamed",
		".scrub": "in the way",
	} {
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		require.NoError(t, err)
		assert.Equal(t, want, string(data), name)
	}
	if !link {
		return
	}
	data, err := os.ReadFile(other)
	require.NoError(t, err)
	assert.Contains(t, string(data), "first-secret", "what is outside is not written to")
	info, err := os.Stat(filepath.Join(dir, "file"))
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o750), info.Mode())
	target, err := os.Readlink(filepath.Join(dir, "link"))
	require.NoError(t, err)
	assert.Equal(t, "/[REDACTED:A]", target)
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, entries, 7, "no temporary file is left")
}

// TestScrubLooks: who searches can tell others what is there, and leave out what others have searched.
func TestScrubLooks(t *testing.T) {
	var s secret.Set
	s.Mark("A", "first-secret")
	large := strings.Repeat("x", 70_000)
	dir := tree(t, map[string]string{
		"clean": "text", "d/empty": "", "large": large, "masked": "first-secret", "known/file": "first-secret",
		"d/known/file": "first-secret",
	})
	seen := make(map[string]string)
	look := &secret.Look{
		Known: map[string]bool{"d/known": true},
		File: func(path string, info fs.FileInfo, content []byte) {
			assert.Equal(t, int64(len(content)), info.Size())
			seen[path] = string(content)
		},
	}
	got, err := s.Scrub(t.Context(), dir, look)
	require.NoError(t, err)
	assert.Equal(t, []secret.Finding{{Path: "known/file", Name: "A"}, {Path: "masked", Name: "A"}}, got)
	assert.Equal(t, map[string]string{"clean": "text", "d/empty": ""}, seen)
	assert.False(t, look.Keys)

	for name, key := range map[string]string{"in a file": "x", "in a name": "AKIA" + "Z7Q2M4N6P8R1T3V5"} {
		look, text := &secret.Look{}, "x"
		if name == "in a file" {
			text = large + " AKIA" + "Z7Q2M4N6P8R1T3V5"
		}
		got, err := s.Scrub(t.Context(), tree(t, map[string]string{key: text}), look)
		require.NoError(t, err, name)
		assert.Empty(t, got, name)
		assert.True(t, look.Keys, name)
	}
}

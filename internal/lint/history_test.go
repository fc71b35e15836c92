package lint_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/lint"
)

// repository makes a repository with a file of many versions, each a little different, and returns its files.
func repository(t testing.TB, pack bool) map[string][]byte {
	t.Helper()
	dir := t.TempDir()
	git := func(args ...string) string {
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
		return strings.TrimSpace(string(out))
	}
	git("init", "--quiet", "--initial-branch=main")
	lines := strings.Repeat("a line that stays as it is in all versions\n", 50)
	for _, version := range []string{"one", "two", "three", "four"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte(lines+version+"\n"+lines), 0o644))
		git("add", "--all")
		git("commit", "--quiet", "--message=version "+version)
	}
	git("reset", "--quiet", "--hard", "HEAD~2")
	git("tag", "--annotate", "--message=note of a tag", "v1")
	if pack {
		git("repack", "-adq", "--depth=50")
		git("prune-packed", "--quiet")
	}
	files := make(map[string][]byte)
	base := filepath.Join(dir, ".git")
	require.NoError(t, filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(base, path)
		if !strings.HasSuffix(rel, ".idx") {
			files[filepath.ToSlash(rel)] = data
		}
		return err
	}))
	return files
}

// All versions, messages and tags are read, from objects in files of their own and from packs with differences.
func TestReadRepository(t *testing.T) {
	loose, err := lint.ReadRepository(repository(t, false))
	require.NoError(t, err)
	packed, err := lint.ReadRepository(repository(t, true))
	require.NoError(t, err)
	for _, texts := range [][]string{loose, packed} {
		all := strings.Join(texts, "\n--\n")
		for _, want := range []string{"\none\n", "\ntwo\n", "\nversion one\n", "\nversion two\n", "note of a tag"} {
			assert.Contains(t, all, want)
		}
	}
	// What is beside HEAD is there as long as git keeps it.
	for _, want := range []string{"\nfour\n", "\nversion four\n"} {
		assert.Contains(t, strings.Join(loose, "\n--\n"), want)
	}
}

// A damaged repository is told of, and what can be read of it is.
func TestDamagedRepository(t *testing.T) {
	files := repository(t, true)
	for name, data := range files {
		if strings.HasSuffix(name, ".pack") {
			files[name] = data[:len(data)/2]
		}
	}
	_, err := lint.ReadRepository(files)
	require.ErrorContains(t, err, ".pack: ")

	_, err = lint.ReadRepository(map[string][]byte{"config": []byte("[extensions]\n\tobjectFormat = sha256\n")})
	require.ErrorContains(t, err, "SHA-256")
}

func FuzzReadRepository(f *testing.F) {
	for name, data := range repository(f, true) {
		if strings.HasSuffix(name, ".pack") {
			f.Add(data, []byte("x"))
		}
	}
	for name, data := range repository(f, false) {
		if strings.HasPrefix(name, "objects/") {
			f.Add([]byte("PACK"), data)
		}
	}
	f.Fuzz(func(t *testing.T, pack, loose []byte) {
		name := "objects/" + strings.Repeat("a", 2) + "/" + strings.Repeat("b", 38)
		texts, _ := lint.ReadRepository(map[string][]byte{
			"objects/pack/a.pack": pack, name: loose, "HEAD": bytes.Clone(loose),
		})
		require.LessOrEqual(t, len(texts), 200_000)
	})
}

package gocache_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/gocache"
	"github.com/sdd-eval/sdd-eval/internal/helper"
)

// TestVariables tests a module with the user's cache to read: its entries are used, and new ones are written elsewhere.
func TestVariables(t *testing.T) {
	program, err := helper.Find()
	require.NoError(t, err)
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	read, base := strings.TrimSpace(string(cache)), t.TempDir()
	added := filepath.Join(base, "what is new")
	module := filepath.Join(base, "module")
	write(t, filepath.Join(module, "go.mod"), "module example.com/m\n\ngo 1.24\n")
	write(t, filepath.Join(module, "m.go"), "package m // in "+base+"\n\nfunc One() int { return 1 }\n")
	write(t, filepath.Join(module, "m_test.go"), `package m

import "testing"

func TestOne(t *testing.T) {
	if One() != 1 {
		t.Fatal()
	}
}
`)
	run := func() string {
		cmd := exec.Command("go", "test", "-x", ".")
		cmd.Dir = module
		cmd.Env = append(os.Environ(), gocache.Variables(program, added, read)...)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		return string(out)
	}
	out := run()
	assert.Less(t, strings.Count(out, "/compile -o"), 5, "the standard library is not compiled: %s", out)
	names := files(t, added)
	assert.NotEmpty(t, names)
	for _, name := range names {
		assert.NoFileExists(t, filepath.Join(read, name))
	}
	out = run()
	assert.Contains(t, out, "(cached)")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

// files returns the names of the files of actions below a directory.
func files(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "-a") {
			path, err = filepath.Rel(dir, path)
			names = append(names, path)
		}
		return err
	}))
	return names
}

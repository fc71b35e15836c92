//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/require"
)

// TestImportPage carries out what docs/import.md says of sessions, as it stands there, and replays what comes of it.
func TestImportPage(t *testing.T) {
	t.Parallel()
	page := text(t, filepath.Join(root, "docs/import.md"))
	block := regexp.MustCompile("(?ms)^## Sessions$.*?^```\n(.*?)^```").FindStringSubmatch(page)
	require.NotNil(t, block)
	dir := t.TempDir()
	files, err := txtar.ParseFile(filepath.Join("testdata", "import-page.txtar"))
	require.NoError(t, err)
	for _, f := range files.Files {
		file := filepath.Join(dir, f.Name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, f.Data, 0o644))
	}
	cmd := exec.Command("sh", "-e", "-c", block[1]+"sdd-eval run --playbook evals/demo.yaml --mode replay")
	cmd.Dir = filepath.Join(dir, "project")
	cmd.Env = append(os.Environ(), "HOME="+filepath.Join(dir, "home"), "PATH="+bin+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "3 passed")
}

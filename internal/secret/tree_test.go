package secret_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// TestNoFalseAlarms: nothing in this repository looks like a key but what scripts, mutants and samples say is one.
func TestNoFalseAlarms(t *testing.T) {
	var s secret.Set
	var masked []string
	files := 0
	for _, dir := range []string{"acp", "cmd", "docs", "evals", "evaltest", "internal", "playbook"} {
		err := filepath.WalkDir(filepath.Join("..", "..", dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() {
				return err
			}
			text, err := os.ReadFile(path)
			if s.String(string(text)) != string(text) {
				masked = append(masked, filepath.Base(path))
			}
			files++
			return err
		})
		require.NoError(t, err)
	}
	require.Greater(t, files, 500)
	assert.Equal(t, []string{
		"refused.txtar", "secret.txtar", "secret_cut.txtar", "secret_hidden.txtar",
		"red-mutants.txt", "files.go", "report.json.golden", "report.txt.golden", "report.xml.golden", "parts.txtar",
	}, masked)
}

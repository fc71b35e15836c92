package expect_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/expect"
)

// TestTree: only what the agent left counts, and what cannot be known is an error.
func TestTree(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "a"), []byte("x"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "large"), nil, 0o644))
	require.NoError(t, os.Truncate(filepath.Join(dir, "large"), expect.MaxFileSize))
	tree, err := expect.OpenTree(evaluator.Input{
		Workspace: dir,
		Kept: func(path string) error {
			if path == "lost" {
				return errors.New("nobody kept it")
			}
			return nil
		},
		Given: func(path string) (bool, error) {
			if path == "unclear" {
				return false, errors.New("nobody knows")
			}
			return path == "a" || path == "gone", nil
		},
	})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "unclear"), nil, 0o644))
	const given = "a step before the agent left it so, not the agent (`after: steps` takes what steps made)"
	long := strings.Repeat("x", 300) // longer than a name may be
	tests := []struct{ path, absent, exists, err string }{
		{"a", "it exists: a file of 1 bytes", given, ""},
		{"large", "it exists: a file of 16777216 bytes", "", ""},
		{"gone", given, "it does not exist", ""},
		{"none", "", "it does not exist", ""},
		{"lost", "", "", "nobody kept it"},
		{long, "", "", long},
	}
	for _, tt := range tests {
		absent, errAbsent := tree.Absent(tt.path)
		exists, errExists := tree.Exists(tt.path)
		content, read, errRead := tree.Read(tt.path)
		if tt.err != "" {
			for _, err := range []error{errAbsent, errExists, errRead} {
				assert.ErrorContains(t, err, tt.err)
			}
			continue
		}
		assert.NoError(t, errors.Join(errAbsent, errExists, errRead), tt.path)
		assert.Equal(t, []string{tt.absent, tt.exists, tt.exists}, []string{absent, exists, read}, tt.path)
		assert.Equal(t, tt.path == "large", content != nil, tt.path)
	}
	_, err = tree.Exists("unclear")
	assert.EqualError(t, err, "nobody knows")
	require.NoError(t, os.Truncate(filepath.Join(dir, "large"), expect.MaxFileSize+1))
	_, _, err = tree.Read("large")
	assert.EqualError(t, err, "large exceeds the 16 MiB limit")

	require.NoError(t, os.RemoveAll(dir))
	_, err = tree.Absent("none")
	assert.ErrorContains(t, err, "open the workspace", "nothing is absent where there is no workspace")
}

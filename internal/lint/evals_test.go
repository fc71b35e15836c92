package lint_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/lint"
	"github.com/sdd-eval/sdd-eval/internal/plan"
)

// Our own evals, and the playbooks in fixtures, have nothing to be found.
func TestEvals(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	var files []string
	for _, glob := range []string{"evals/*/*.yaml", "fixtures/playbooks/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(root, glob))
		require.NoError(t, err)
		files = append(files, found...)
	}
	require.Greater(t, len(files), 10)
	for _, file := range files {
		name, err := filepath.Rel(root, file)
		require.NoError(t, err)
		t.Run(name, func(t *testing.T) {
			p, err := plan.Read(plan.Source{Path: file, Name: name, Root: root}, kinds.All())
			require.NoError(t, err)
			got, err := lint.Run(t.Context(), p, lint.Config{
				Root: root, Ours: []string{filepath.Join(root, "cassettes")}, TempDir: t.TempDir(),
			})
			require.NoError(t, err)
			assert.Empty(t, got.Findings)
			assert.Empty(t, got.Notes)
		})
	}
}

package clitest_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest/clitest"
)

// TestOutputDir runs a test in a module that leaves output.
func TestOutputDir(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "tools"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.com/tools\n"), 0o644))
	t.Chdir(filepath.Join(root, "tools"))
	t.Setenv("TEST_RUN_ID", "nightly")
	dir := clitest.OutputDir(t)
	require.Equal(t, filepath.Join(root, "test-output/nightly/tools/TestOutputDir"), dir)
	require.DirExists(t, dir)
	require.Equal(t, dir, clitest.OutputDir(t), "it is one for all of the test")
	t.Run("other", func(t *testing.T) {
		require.Equal(t, filepath.Join(root, "test-output/nightly/tools/TestOutputDir.other"), clitest.OutputDir(t))
	})
}

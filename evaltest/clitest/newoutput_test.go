package clitest

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewOutput(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.com/x\n"), 0o644))
	pkg := filepath.Join(root, "evals", "shop")
	require.NoError(t, os.MkdirAll(pkg, 0o755))
	tests := []struct{ name, reason, dir, test, want string }{
		{"test", "", pkg, "TestA", "evals/shop/TestA"},
		{"again", "it was repeated", pkg, "TestA", "evals/shop/TestA-2"},
		{"subtest", "", pkg, "TestA/b/c", "evals/shop/TestA.b.c"},
		{"root", "", root, "TestA", "TestA"},
		{"odd", "", pkg, "TestA/../../Ü x\x00", "evals/shop/TestA......._x_"},
		{"long", "", pkg, strings.Repeat("x", 500), "evals/shop/" + strings.Repeat("x", maxName)},
		{
			"long-too", "another one with the same beginning", pkg, strings.Repeat("x", 501),
			"evals/shop/" + strings.Repeat("x", maxName) + "-2",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := newOutput(tt.dir, "ci", tt.test)
			require.NoError(t, err)
			require.Equal(t, filepath.Join(root, "test-output", "ci", filepath.FromSlash(tt.want)), got, tt.reason)
			require.DirExists(t, got)
		})
	}
	ignored, err := os.ReadFile(filepath.Join(root, "test-output", ".gitignore"))
	require.NoError(t, err)
	require.Equal(t, "*\n", string(ignored))

	_, err = newOutput(os.TempDir(), "ci", "TestA")
	require.ErrorContains(t, err, "no go.mod in ")
}

// TestNewOutputAtOnce: whoever asks at the same time gets another directory.
func TestNewOutputAtOnce(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module example.com/x\n"), 0o644))
	made := make([]string, 32)
	var group sync.WaitGroup
	for i := range made {
		group.Go(func() {
			var err error
			if made[i], err = newOutput(root, "ci", "TestA"); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	seen := make(map[string]bool)
	for _, path := range made {
		require.False(t, seen[path], path)
		seen[path] = true
	}
}

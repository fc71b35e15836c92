package clitest

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/project"
)

// TestLinksThatLeave: what a module's links lead to is not ours to remove, or to write to.
func TestLinksThatLeave(t *testing.T) {
	for _, link := range []string{".evaltest", ".evaltest/bin", "test-output", "test-output/ci"} {
		t.Run(link, func(t *testing.T) {
			root, outside := t.TempDir(), t.TempDir()
			old := filepath.Join(outside, "old")
			require.NoError(t, os.Mkdir(old, 0o755))
			require.NoError(t, os.Chtimes(old, time.Unix(0, 0), time.Unix(0, 0)), "as old as programs that are removed")
			require.NoError(t, os.WriteFile(filepath.Join(root, "go.mod"), []byte("module m\n"), 0o644))
			source := []byte("package main\nfunc main() {}\n")
			require.NoError(t, os.WriteFile(filepath.Join(root, "main.go"), source, 0o644))
			path := filepath.Join(root, filepath.FromSlash(link))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.Symlink(outside, path))
			_, built := buildCommand(root, ".")
			_, own := project.OwnDir(root)
			_, made := newOutput(root, "ci", "TestA")
			err := errors.Join(built, made)
			left, ok := errors.AsType[*disk.LinkError](err)
			require.True(t, ok, "%v", err)
			require.Equal(t, path, left.Link)
			require.Equal(t, link == ".evaltest", own != nil)
			entries, err := os.ReadDir(outside)
			require.NoError(t, err)
			require.Len(t, entries, 1, "nothing was removed or made")
		})
	}
}

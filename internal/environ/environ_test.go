//go:build unix

package environ

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestGet(t *testing.T) {
	env := []string{"A=1", "AB=2", "B=", "A=3=4"}
	for name, want := range map[string]string{"A": "3=4", "AB": "2", "B": "", "C": "", "a": ""} {
		assert.Equal(t, want, Get(env, name), name)
	}
}

func TestLookPath(t *testing.T) {
	base := t.TempDir()
	t.Chdir(base)
	for name, perm := range map[string]os.FileMode{"plain/tool": 0o644, "bin/tool": 0o755, "later/tool": 0o755} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(t, os.WriteFile(name, []byte("#!/bin/sh\n"), perm))
	}
	dirs := []string{
		"later", "", filepath.Join(base, "plain"), filepath.Join(base, "bin"),
		filepath.Join(base, "later"),
	}
	path := strings.Join(dirs, string(filepath.ListSeparator))
	found, err := LookPath("tool", path)
	require.NoError(t, err)
	assert.Equal(t, filepath.Join(base, "bin", "tool"), found)

	_, err = LookPath("tool", "bin")
	require.ErrorIs(t, err, exec.ErrNotFound)
	assert.EqualError(t, err, `"tool": executable file not found in $PATH (PATH=bin)`)
}

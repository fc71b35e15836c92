//go:build unix

package style

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestAFIFOIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	fifo := filepath.Join(dir, agentsFile)
	require.NoError(t, syscall.Mkfifo(fifo, 0o644))
	_, err := Load("mine", dir)
	require.EqualError(t, err, `load style "mine": `+fifo+": not a regular file")

	_, err = embeddedStyle(t, "sdd").Write(openRoot(t, dir))
	assert.EqualError(t, err, `write style "sdd": AGENTS.md: it is neither file nor directory, not a regular file`)
}

func TestPermissions(t *testing.T) {
	style := writeTree(t, map[string]string{agentsFile: "Check.\n", "check.sh": "#!/bin/sh\n", "notes.txt": "\n"})
	require.NoError(t, os.Chmod(filepath.Join(style, "check.sh"), 0o700))
	s, err := Load("mine", style)
	require.NoError(t, err)
	dir := writeTree(t, map[string]string{agentsFile: "Mine.\n", "check.sh": "#!/bin/sh\n"})
	require.NoError(t, os.Chmod(filepath.Join(dir, agentsFile), 0o600))
	root := openRoot(t, dir)

	written, err := s.Write(root)
	require.NoError(t, err)
	assert.Equal(t, []string{agentsFile, "check.sh", "notes.txt"}, written)
	for p, exec := range map[string]bool{"check.sh": true, "notes.txt": false} {
		info, err := root.Stat(p)
		require.NoError(t, err)
		assert.Equal(t, exec, isExec(info), p)
	}
	info, err := root.Stat(agentsFile)
	require.NoError(t, err)
	assert.Equal(t, os.FileMode(0o600), info.Mode().Perm(), "whoever could read it can, and nobody else")

	written, err = s.Write(root)
	require.NoError(t, err)
	assert.Empty(t, written)
}

func TestNamesThatDifferByCase(t *testing.T) {
	dir := writeTree(t, map[string]string{"Notes.md": "1"})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "notes.md"), []byte("2"), 0o644))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) == 1 {
		t.Skip("this file system does not tell them apart")
	}
	_, err := Load("mine", dir)
	assert.ErrorContains(t, err, "only by case")
}

func TestNameThatIsNotUTF8(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "caf\xe9"), nil, 0o644); err != nil {
		t.Skip("this file system refuses the name: ", err)
	}
	_, err := Load("mine", dir)
	assert.ErrorContains(t, err, "the name is not UTF-8")
}

package clitest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuildsWhatChanged: a program that did not change is not linked again, and one of another name does not pass for
// it.
func TestBuildsWhatChanged(t *testing.T) {
	root := filepath.Join(t.TempDir(), "tool")
	write := func(name, text string) {
		path := filepath.Join(root, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o755))
	}
	write("go.mod", "module example.com/m\n")
	write("main.go", "package main\n\nfunc main() {}\n")
	write("tool/main.go", "package main\n\nfunc main() { println() }\n")
	tool, err := buildCommand(root, "./tool")
	require.NoError(t, err)
	m, err := buildCommand(root, ".") // its directory is called tool, too
	require.NoError(t, err)
	require.Equal(t, "m", filepath.Base(m))

	write("versions", "#!/bin/sh\ncase \"$*\" in *-V=full) exec \"$@\" ;; esac\nexit 1\n") // of tools, which then fail
	t.Setenv("GOFLAGS", "-toolexec="+filepath.Join(root, "versions"))
	again, err := buildCommand(root, "./tool")
	require.NoError(t, err)
	require.Equal(t, tool, again)
	write("tool/main.go", "package main\n\nfunc main() {}\n")
	_, err = buildCommand(root, "./tool")
	require.Error(t, err)
}

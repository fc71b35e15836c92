package engine

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestBuildsKey: what go compiles depends on the command and on variables of Go, and on nothing else that the user has.
func TestBuildsKey(t *testing.T) {
	key := buildsKey([]string{"HOME=/a", "GOFLAGS=-race", "CGO_ENABLED=0", "GOCACHE=/c"}, "go test")
	for _, same := range [][]string{
		{"HOME=/b", "GOFLAGS=-race", "CGO_ENABLED=0", "GOCACHE=/c"},
		{"HOME=/a", "GOFLAGS=-race", "CGO_ENABLED=0", "GOCACHE=/d"},
		{"CGO_ENABLED=0", "GOFLAGS=-race"},
	} {
		require.Equal(t, key, buildsKey(same, "go test"), same)
	}
	for _, other := range [][]string{
		{"GOFLAGS=-msan", "CGO_ENABLED=0"}, {"GOFLAGS=-race", "CGO_ENABLED=1"}, {"GOFLAGS=-race"},
	} {
		require.NotEqual(t, key, buildsKey(other, "go test"), other)
	}
	require.NotEqual(t, key, buildsKey([]string{"GOFLAGS=-race", "CGO_ENABLED=0"}, "go build"))
}

// TestCompiledMuch: a step that compiles what the user's cache could have is told how to spare that.
func TestCompiledMuch(t *testing.T) {
	home := t.TempDir()
	dir := filepath.Join(home, ".cache", "go-build")
	require.NoError(t, os.MkdirAll(dir, 0o755))
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	for i := range manyPackages - 1 {
		write(fmt.Sprintf("%02d-d", i), "!<arch>\nof a package")
	}
	write("text-d", "no archive")
	write("cut-d", "!<arch>")
	write("action-a", "!<arch>\n")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "dir-d"), 0o755))
	command := []string{"go", "test", "-race", "-v", "--tags=x", "./..."}
	require.Empty(t, compiledMuch(home, command))
	write("more-d", "!<arch>\n")
	require.Contains(t, compiledMuch(home, command), "compiled 50 packages")
	require.Contains(t, compiledMuch(home, command), ": go build -race --tags=x std")
}

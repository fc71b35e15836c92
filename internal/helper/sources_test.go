package helper

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestSources checks that the key is that of the helper's sources. With UPDATE_GOLDEN it renews the key.
func TestSources(t *testing.T) {
	packages := ownPackages(t)
	key, err := sum(filepath.Join("..", ".."), packages)
	require.NoError(t, err)
	want := strings.Join(append([]string{key}, packages...), "\n") + "\n"
	const file = "generated/sources.txt"
	if os.Getenv("UPDATE_GOLDEN") != "" {
		require.NoError(t, os.WriteFile(filepath.FromSlash(file), []byte(want), 0o644))
		return
	}
	require.Equal(t, want, sources, "the helper's sources have changed: run `go generate ./internal/helper`")
}

// ownPackages returns the directories of this module's packages that the helper is built from.
func ownPackages(t *testing.T) []string {
	t.Helper()
	const module = "github.com/sdd-eval/sdd-eval/"
	list := exec.Command("go", "list", "-deps", "-json=ImportPath,EmbedFiles", command)
	list.Env = append(os.Environ(), "GOOS=linux", "CGO_ENABLED=0") // where it has the most of them
	list.Stderr = t.Output()
	out, err := list.Output()
	require.NoError(t, err)
	var packages []string
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			ImportPath string
			EmbedFiles []string
		}
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		require.NoError(t, err)
		dir, ours := strings.CutPrefix(p.ImportPath, module)
		if !ours {
			continue
		}
		packages = append(packages, dir)
		for _, name := range p.EmbedFiles {
			require.True(t, !strings.Contains(name, "/") || name == "generated/sources.txt",
				"%s embeds %s, but the sum has only files directly in a package's directory", dir, name)
		}
	}
}

package archtest

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPage holds docs/architecture.md to a line for every room, and to paths that exist.
func TestPage(t *testing.T) {
	data, err := os.ReadFile("../../docs/architecture.md")
	require.NoError(t, err)
	page := string(data)
	for _, pattern := range []string{"../../internal/*", "../../evaltest", "../../playbook", "../../acp"} {
		rooms, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, rooms)
		for _, room := range rooms {
			rel, err := filepath.Rel("../..", room)
			require.NoError(t, err)
			require.Regexp(t, "(?m)^\\| .*`"+regexp.QuoteMeta(filepath.ToSlash(rel))+"`.* \\| ", page,
				"docs/architecture.md has no line for it")
		}
	}
	for _, m := range regexp.MustCompile("`((?:internal|acp|evaltest|cmd|docs)/[a-z_./-]+)(?:#[a-z-]+)?`").
		FindAllStringSubmatch(page, -1) {
		_, err := os.Stat(filepath.Join("../..", m[1]))
		require.NoError(t, err, "docs/architecture.md names what is not there")
	}
}

package skill_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/skill"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// TestCheck compares what is found in each archive with a golden text.
func TestCheck(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			dir := t.TempDir()
			require.NoError(t, txtar.Write(archive, dir))
			golden.Equal(t, strings.TrimSuffix(file, ".txtar")+".golden", check(t, dir))
		})
	}
}

// check returns what is found of all skills in a directory, and the cases, queries and checks.
func check(t *testing.T, dir string) string {
	t.Helper()
	shown := func(file string) string {
		rel, err := filepath.Rel(dir, file)
		require.NoError(t, err)
		return filepath.ToSlash(rel)
	}
	places, others, err := skill.Find(dir, true)
	require.NoError(t, err)
	var text strings.Builder
	for _, p := range places {
		fmt.Fprintf(&text, "# %s\n", p.Dir)
		s, err := skill.Load(t.Context(), p)
		require.NoError(t, err)
		r := s.Report(shown)
		require.NoError(t, r.WriteText(&text))
		for _, f := range r.Installed {
			fmt.Fprintf(&text, "installs %s\n", f.Path)
		}
		for _, c := range r.Cases {
			for _, f := range c.Files {
				fmt.Fprintf(&text, "%s: file %s from %s\n", c.ID, f.To, f.From)
			}
			for _, k := range c.Checks {
				fmt.Fprintf(&text, "%s: %s %q %s %s %q regexp=%t min=%d file=%q\n", c.ID, k.ID, k.Text, k.By, k.Op,
					k.Patterns, k.Regexp, k.Min, k.File)
			}
		}
		for _, q := range r.Queries {
			fmt.Fprintf(&text, "%s: %q wants %q routing=%t\n", q.ID, q.Prompt, q.Skills, q.Routing)
		}
	}
	for _, other := range others {
		fmt.Fprintf(&text, "not read: %s\n", shown(other))
	}
	return text.String()
}

func TestFindTakesItsOwnEvalsFirst(t *testing.T) {
	dir := t.TempDir()
	for _, at := range []string{"evals", "examples/x/evals", "examples/y/evals"} {
		require.NoError(t, os.MkdirAll(filepath.Join(dir, at), 0o755))
	}
	dirs := func(from string, all bool) (found []string) {
		places, _, err := skill.Find(filepath.Join(dir, from), all)
		require.NoError(t, err)
		for _, p := range places {
			found = append(found, p.Dir)
		}
		return found
	}
	assert.Empty(t, dirs(".", false))
	for _, at := range []string{"evals", "examples/x/evals", "examples/y/evals"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, at, "evals.json"), nil, 0o600))
	}
	assert.Equal(t, []string{"evals"}, dirs(".", false))
	assert.Equal(t, []string{"evals", "examples/x/evals", "examples/y/evals"}, dirs(".", true))
	assert.Equal(t, []string{"x/evals", "y/evals"}, dirs("examples", false))
	assert.Equal(t, []string{"."}, dirs("evals", false))
}

// FuzzLoad holds that evals of any kind are read without a panic, and that what cannot be read is told: a case that can
// be run has a prompt and a check, every finding a place or a file, and the playbook of the suite can be read.
func FuzzLoad(f *testing.F) {
	archives, err := filepath.Glob("testdata/*.txtar")
	require.NoError(f, err)
	for _, file := range archives {
		archive, err := txtar.ParseFile(file)
		require.NoError(f, err)
		for _, part := range archive.Files {
			if strings.HasSuffix(part.Name, ".json") {
				f.Add(part.Data, strings.Contains(part.Name, "trigger"))
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, trigger bool) {
		dir := t.TempDir()
		name := "evals.json"
		if trigger {
			name = "trigger-eval.json"
		}
		require.NoError(t, os.Mkdir(filepath.Join(dir, "evals"), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "evals", name), data, 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(dir, "SKILL.md"), []byte("---\nname: f\n---\n"), 0o600))
		s, err := skill.Load(t.Context(), skill.Place{Root: dir, Dir: "evals"})
		require.NoError(t, err)
		if len(s.Cases)+len(s.Queries) == 0 {
			require.Equal(t, skill.Error, s.Level())
		}
		seen := make(map[string]bool)
		for _, c := range s.Cases {
			if c.Broken {
				require.Equal(t, skill.Error, s.Level())
				continue
			}
			require.NotEmpty(t, strings.TrimSpace(c.Prompt))
			require.NotEmpty(t, c.Checks)
			require.False(t, seen[strings.ToLower(c.ID)], c.ID)
			seen[strings.ToLower(c.ID)] = true
			for _, k := range c.Checks {
				require.NotEmpty(t, k.By)
				require.True(t, k.By == skill.Model || len(k.Rule.Patterns) > 0)
			}
		}
		require.NoError(t, s.Report(func(p string) string { return p }).WriteText(&strings.Builder{}))
		loads(t, s)
	})
}

// TestDeepDirectories holds that what lies too deep to be found is not passed over.
func TestDeepDirectories(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(dir, strings.Repeat("d/", 70), "evals"), 0o755))
	_, _, err := skill.Find(dir, true)
	require.EqualError(t, err, "directories are more than 64 levels deep: name the skill's")
}

package lint_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/lint"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// Each archive in testdata/leaks has a planted leak, with the findings in "want", and a clean twin: the files below
// "clean" replace others, and those that "removed" lists are gone. Directories commit-1, commit-2 and so on are commits
// of the workspace; "head" is the one that is checked out, else the first.
func TestLeaks(t *testing.T) {
	files, err := filepath.Glob("testdata/leaks/*.txtar")
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), 20)
	var remedies strings.Builder
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			planted, clean, want := twins(archive)
			pack := strings.Contains(string(archive.Comment), "\ngc")

			report, err := run(t, planted, pack)
			require.NoError(t, err)
			assert.Empty(t, report.Notes)
			var got []string
			for _, f := range report.Findings {
				got = append(got, fmt.Sprintf("%s: %s [%s]", f.Position, f.Rule, f.Where))
				fmt.Fprintf(&remedies, "%s: %s\n    %s\n", got[len(got)-1], f.What, f.Remedy)
			}
			assert.Equal(t, want, got)

			report, err = run(t, clean, pack)
			require.NoError(t, err)
			assert.Empty(t, report.Findings, "the clean twin")
		})
	}
	golden.Equal(t, "testdata/leaks.golden", hideCommits(remedies.String()))
}

// hideCommits replaces the names of commits, which depend on the version of git.
func hideCommits(text string) string {
	words := strings.Split(text, "commit ")
	for i, w := range words[1:] {
		words[i+1] = "NAME" + strings.TrimLeft(w, "0123456789abcdef")
	}
	return strings.Join(words, "commit ")
}

// twins splits an archive: paths to texts with the leak, and without.
func twins(archive *txtar.Archive) (planted, clean map[string]string, want []string) {
	planted, clean = make(map[string]string), make(map[string]string)
	instead := make(map[string]string)
	for _, f := range archive.Files {
		if name, ok := strings.CutPrefix(f.Name, "clean/"); ok {
			instead[name] = string(f.Data)
		} else if f.Name != "want" && f.Name != "removed" {
			planted[f.Name] = string(f.Data)
		}
	}
	maps.Copy(clean, planted)
	maps.Copy(clean, instead)
	for _, f := range archive.Files {
		switch lines := strings.Split(strings.TrimSpace(string(f.Data)), "\n"); f.Name {
		case "removed":
			for _, name := range lines {
				delete(clean, name)
			}
		case "want":
			want = lines
		}
	}
	return planted, clean, want
}

// run writes files, makes a repository of the workspace if there are commits, and lints the playbook.
func run(t *testing.T, files map[string]string, pack bool) (lint.Report, error) {
	t.Helper()
	root := t.TempDir()
	write(t, root, files, "")
	commit(t, root, files, pack)
	playbooks, err := filepath.Glob(filepath.Join(root, "evals", "p*.yaml"))
	require.NoError(t, err)
	require.Len(t, playbooks, 1)
	name := "evals/" + filepath.Base(playbooks[0])
	p, err := plan.Read(plan.Source{Path: playbooks[0], Name: name, Root: root}, kinds.All())
	require.NoError(t, err)
	return lint.Run(context.Background(), p, lint.Config{
		Root: root, Ours: []string{filepath.Join(root, "cassettes")}, TempDir: t.TempDir(),
	})
}

// write writes the files below a directory of the archive.
func write(t *testing.T, dir string, files map[string]string, below string) {
	t.Helper()
	for name, text := range files {
		name, ok := strings.CutPrefix(name, below)
		if !ok || below == "" && strings.HasPrefix(name, "commit-") {
			continue
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
}

// commit makes the commits of the workspace.
func commit(t *testing.T, root string, files map[string]string, pack bool) {
	t.Helper()
	if !slices.ContainsFunc(slices.Collect(maps.Keys(files)), func(name string) bool {
		return strings.HasPrefix(name, "commit-1/")
	}) {
		return
	}
	ws := filepath.Join(root, "ws")
	git := func(args ...string) {
		cmd := exec.Command("git", append([]string{"-c", "user.name=t", "-c", "user.email=t@localhost"}, args...)...)
		cmd.Dir = ws
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, string(out))
	}
	git("init", "--quiet", "--initial-branch=main")
	for n := 1; ; n++ {
		below := fmt.Sprintf("commit-%d/", n)
		before := len(files)
		one := maps.Clone(files)
		maps.DeleteFunc(one, func(name, _ string) bool { return !strings.HasPrefix(name, below) })
		if len(one) == 0 || before == 0 {
			break
		}
		write(t, ws, one, below)
		git("add", "--all")
		date := fmt.Sprintf("2000-01-01T00:00:%02dZ", n)
		t.Setenv("GIT_AUTHOR_DATE", date)
		t.Setenv("GIT_COMMITTER_DATE", date)
		git("commit", "--quiet", "--message=step")
		git("tag", fmt.Sprintf("v%d", n))
	}
	head := "v1"
	if n := strings.TrimSpace(files["head"]); n != "" {
		head = "v" + n
	}
	git("reset", "--quiet", "--hard", head)
	if pack {
		git("gc", "--quiet", "--prune=now")
		packs, err := filepath.Glob(filepath.Join(ws, ".git", "objects", "pack", "*.pack"))
		require.NoError(t, err)
		require.Len(t, packs, 1)
	}
}

package workspace

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/testkit/golden"
)

// put writes a file below dir.
func put(t *testing.T, dir, path, text string) {
	t.Helper()
	file := filepath.Join(dir, filepath.FromSlash(path))
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o644))
}

func TestBaselineDiff(t *testing.T) {
	ctx := t.Context()
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "ws")
	put(t, src, "main.go", "package main\n\nfunc main() {\n}\n")
	put(t, src, "gone.txt", "one\ntwo\n")
	put(t, src, "same.txt", "same\n")
	put(t, src, "run.sh", "#!/bin/sh\n")
	put(t, src, "data.bin", "\x00\x01")
	put(t, src, ".gitignore", "*.log\n")
	tpl, err := Load(ctx, Source{Dir: src})
	require.NoError(t, err)
	seeds := Seeds(map[string]string{"order.json": "{}\n"})
	m, _, err := tpl.Prepare(ctx, dst, seeds)
	require.NoError(t, err)
	base := tpl.Baseline(m, seeds)
	put(t, dst, "AGENTS.md", "rules\n")
	m, err = Snapshot(ctx, dst)
	require.NoError(t, err)
	base = base.With(m, map[string][]byte{"AGENTS.md": []byte("rules\n")})

	d, err := base.Diff(ctx, dst)
	require.NoError(t, err)
	require.Empty(t, d.Files, "nothing has happened yet")

	put(t, dst, "main.go", "package main\n\nfunc main() {\n\tprintln(1)\n}\n")
	require.NoError(t, os.Remove(filepath.Join(dst, "gone.txt")))
	require.NoError(t, os.Chmod(filepath.Join(dst, "run.sh"), 0o755))
	put(t, dst, "data.bin", "\x00\x02")
	put(t, dst, "order.json", "{\"n\": 1}")
	put(t, dst, "AGENTS.md", "rules\nmore\n")
	put(t, dst, "new/file.txt", "hello\n")
	put(t, dst, "new/trace.log", "noise\n")
	require.NoError(t, os.Symlink("main.go", filepath.Join(dst, "link")))
	d, err = base.Diff(ctx, dst)
	require.NoError(t, err)

	golden.Equal(t, "testdata/baseline.diff", d.Text)

	var summary []string
	for _, f := range d.Files {
		line := string(f.Op) + " " + f.Path
		if f.Added != nil {
			line += " +" + strings.Repeat("+", *f.Added) + strings.Repeat("-", *f.Removed)
		}
		summary = append(summary, line)
	}
	require.Equal(t, []string{
		"modified AGENTS.md ++", "modified data.bin", "deleted gone.txt +--", "added link ++", "modified main.go ++",
		"added new/file.txt ++", "added new/trace.log", "modified order.json ++-", "modified run.sh",
	}, summary)
}

// TestBaselineDiffApplies proves that git understands the diff: it makes the new state of the old one.
func TestBaselineDiffApplies(t *testing.T) {
	ctx := t.Context()
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "ws")
	require.NoError(t, os.WriteFile(filepath.Join(src, "a b.txt"), []byte("1\n2\n3"), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(src, "old"), []byte("x\n"), 0o644))
	tpl, err := Load(ctx, Source{Dir: src})
	require.NoError(t, err)
	m, _, err := tpl.Prepare(ctx, dst, nil)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dst, "a b.txt"), []byte("1\nzwei\n3\n"), 0o644))
	require.NoError(t, os.Remove(filepath.Join(dst, "old")))
	require.NoError(t, os.WriteFile(filepath.Join(dst, "new"), []byte("y\n"), 0o755))
	d, err := tpl.Baseline(m, nil).Diff(ctx, dst)
	require.NoError(t, err)

	apply := exec.Command("git", "apply", "-")
	apply.Dir, apply.Stdin = src, strings.NewReader(string(d.Text))
	apply.Env = append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(src))
	out, err := apply.CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, d.Text)
	got, err := Snapshot(ctx, src)
	require.NoError(t, err)
	want, err := Snapshot(ctx, dst)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestBaselineNow: what steps made before the agent began is no change of the agent's.
func TestBaselineNow(t *testing.T) {
	ctx := t.Context()
	src, dst := t.TempDir(), filepath.Join(t.TempDir(), "ws")
	put(t, src, "same.txt", "same\n")
	put(t, src, "changed.txt", "was\n")
	put(t, src, "gone.txt", "was\n")
	put(t, src, ".gitignore", "out/\n")
	tpl, err := Load(ctx, Source{Dir: src})
	require.NoError(t, err)
	prepared, _, err := tpl.Prepare(ctx, dst, nil)
	require.NoError(t, err)
	base := tpl.Baseline(prepared, nil)

	put(t, dst, "changed.txt", "is\n")
	put(t, dst, "empty.txt", "")
	put(t, dst, "dir/new.txt", "new\n")
	put(t, dst, "large.txt", strings.Repeat("large\n", maxCompared))
	put(t, dst, "out/app", "1")
	require.NoError(t, os.Remove(filepath.Join(dst, "gone.txt")))
	now, given, err := base.Now(ctx, dst)
	require.NoError(t, err)
	d, err := now.Diff(ctx, dst)
	require.NoError(t, err)
	require.Empty(t, d.Files, "nothing has happened since")
	for path, same := range map[string]bool{
		"same.txt": true, "changed.txt": false, "empty.txt": false, "dir": false, "gone.txt": false,
		"dir/new.txt": false, "out": false, "out/app": false, "never": true, "dir/never": true, "same.txt/never": true,
	} {
		require.Equal(t, same, prepared.Same(given, path), path)
	}

	put(t, dst, "changed.txt", "is\nand\n")
	put(t, dst, "empty.txt", "full\n")
	put(t, dst, "large.txt", "small\n")
	put(t, dst, "out/other", "2")
	d, err = now.Diff(ctx, dst)
	require.NoError(t, err)
	text := string(d.Text)
	require.Contains(t, text, " is\n+and\n")
	require.Contains(t, text, "+full\n")
	require.Contains(t, text, "(too large to compare)")
	require.NotContains(t, text, "new.txt")
	after, err := now.Manifest(ctx, dst)
	require.NoError(t, err)
	require.True(t, given.Same(after, "dir/new.txt"))
	require.False(t, given.Same(after, "out/app"), "something in the directory has changed")

	styled := prepared.Plus(after, []string{"dir/new.txt"})
	require.True(t, styled.Same(after, "dir"))
	require.True(t, styled.Same(after, "dir/new.txt"))
	require.False(t, styled.Same(after, "empty.txt"))
	require.False(t, prepared.Same(after, "dir"), "Plus leaves the manifest alone")
}

// TestBaselineKnowing: what somebody has seen is not read again, and comes to the same.
func TestBaselineKnowing(t *testing.T) {
	dir := writeTree(t, map[string]string{
		"a.txt": "a\n", "run.sh*": "b\n", "dir/c.txt": "c\n", "empty": "", ".gitignore": "out/\n", "out/d": "d\n",
	})
	want, err := Baseline{}.Manifest(t.Context(), dir)
	require.NoError(t, err)
	var seen Seen
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		require.NoError(t, err)
		if e.IsDir() || e.Name() == "a.txt" {
			return nil
		}
		info, err := e.Info()
		require.NoError(t, err)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		rel, err := filepath.Rel(dir, path)
		seen.Add(filepath.ToSlash(rel), info, data)
		return err
	}))
	got, err := Baseline{}.Knowing(&seen).Manifest(t.Context(), dir)
	require.NoError(t, err)
	require.Equal(t, want, got)

	put(t, dir, "a.txt", "changed\n")
	put(t, dir, "dir/c.txt", "changed\n")
	got, err = Baseline{}.Knowing(&seen).Manifest(t.Context(), dir)
	require.NoError(t, err)
	require.False(t, want.Same(got, "a.txt"))
	require.True(t, want.Same(got, "dir/c.txt"), "it is not read")
}

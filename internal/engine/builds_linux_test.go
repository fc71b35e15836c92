package engine_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/result"
)

// TestBuilds: what files compile to that no agent changed is there for the next run, and nothing else is.
func TestBuilds(t *testing.T) {
	box, err := confine.New(confine.Bwrap, nil)
	require.NoError(t, err)
	if held, err := box.Properties(t.Context()); err != nil || held.Seen("") == "" {
		t.Skip("only bwrap shows all workspaces at one path:", err)
	}
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	require.NoError(t, err)
	home, root := t.TempDir(), t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	t.Setenv("GOCACHE", strings.TrimSpace(string(cache)))
	for name, text := range map[string]string{
		"go.mod":         "module example.com/m\n\ngo 1.24\n",
		"dir0/file0.go":  "package p\n",
		"dir1/file1.go":  "package p\n\nimport _ \"example.com/m/dir2\"\n",
		"dir2/file2.go":  "package p\n",
		"dir1/x_test.go": "package p\n\nfunc init() { panic(\"a test that runs\") }\n",
		"../judge.sh":    "case $GOCACHEPROG in */sdd-eval/builds/*) echo '{\"pass\": true}' ;; esac\n",
	} {
		path := filepath.Join(root, "src", name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	text := strings.Replace(benchPlaybook, "acp.prompt}]",
		"acp.prompt}, {run: go build -x ./dir0 ./dir2}, {run: go test -vet=off ./dir0 ./dir1}]", 1) +
		"  - {type: code_judge, name: reads, script: [sh, judge.sh]}\n" +
		"  - {type: command, name: spares, run: go build -x ./dir2, stderr: {not_contains: -p example.com/m/dir2}}\n" +
		"workspace: {from: src}\n"
	record(t, root, text)
	// run returns the packages that go build compiled, which is a step before the one that fails.
	run := func(text string) (compiled []string) {
		runner, _ := newRunner(t, root, text, engine.Replay, func(c *engine.Config) { c.Sandbox = "bwrap" })
		sunk := new(sink)
		_, err := runner.Run(t.Context(), sunk)
		require.NoError(t, err)
		u := sunk.units[0]
		require.Equal(t, result.Fail, u.Outcome, u.Reason)
		last := len(u.Steps) - 1
		require.Contains(t, u.Steps[last].Output, "a test that runs")
		require.Len(t, u.Evaluations, 3)
		for _, e := range u.Evaluations[1:] {
			require.Equal(t, result.Pass, e.Outcome, e.Name+": "+e.Reason+e.Detail)
		}
		for line := range strings.Lines(u.Steps[last-1].Output) {
			if _, args, ok := strings.Cut(line, "/compile -o"); ok {
				_, args, _ = strings.Cut(args, " -p ")
				name, _, _ := strings.Cut(args, " ")
				compiled = append(compiled, name)
			}
		}
		return compiled
	}
	require.ElementsMatch(t, []string{"example.com/m/dir0", "example.com/m/dir2"}, run(text))
	kept := names(t, home)
	require.True(t, slices.ContainsFunc(kept, func(name string) bool {
		return strings.HasPrefix(filepath.Base(name), "built-")
	}), "that the tests were compiled is noted: %q", kept)
	require.Equal(t, []string{"example.com/m/dir0"}, run(text), "the agent changed dir0 alone")
	require.Equal(t, kept, names(t, home), "what the agent changed went nowhere")

	// What cannot be compiled before, since its directory is not there yet, has no builds; nor has what follows.
	text = strings.Replace(text, "{run: go build", "{run: git init sub}, {run: go test -vet=off ../dir0, cwd: sub}, "+
		"{run: go build", 1)
	record(t, root, text)
	require.Contains(t, run(text), "example.com/m/dir2")
}

// TestNoBuilds: where workspaces have no path in common, nothing is compiled for them, and nothing kept.
func TestNoBuilds(t *testing.T) {
	home := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", home)
	text := strings.Replace(wholePlaybook,
		"sh -c 'echo before > before.txt; echo changed > dir/run.sh'", "go version", 1)
	root := project(t, nil)
	runner, _ := newRunner(t, root, text, engine.Live, unconfined, func(c *engine.Config) {
		c.Keep = &engine.Keep{Below: root}
	})
	sunk := new(sink)
	_, err := runner.Run(t.Context(), sunk)
	require.NoError(t, err)
	require.Contains(t, sunk.units[0].Steps[1].Output, "go version")
	require.Empty(t, sunk.units[0].Warnings)
	require.NotNil(t, sunk.units[0].Metrics.Machine)
	require.NoDirExists(t, filepath.Join(home, "sdd-eval", "builds"))
}

// names lists the files below a directory.
func names(t *testing.T, dir string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, path)
		}
		return err
	}))
	return names
}

package livetest

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cli"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
)

// linked keeps the command's code in this test binary, by whose content go test's cache knows it.
var linked = cli.Main

// TestRealCommand runs a suite with each real agent through the command, as a user runs it live. The key of their
// accounts must be nowhere afterwards, its name in the manifest.
func TestRealCommand(t *testing.T) {
	t.Parallel()
	bin := agentsBin(t)
	requireAgents(t, bin)
	presets, root, program := startModel(t, "../../fixtures/models"), t.TempDir(), buildCommand(t)

	run := exec.Command(program, "run", "--playbook", "../../evals/fix-bug/fix-bug.yaml", "--root", root,
		"--config-dir", presets, "--parallel", "2")
	run.Env = append(os.Environ(), "PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	var stdout, stderr bytes.Buffer
	run.Stdout, run.Stderr = &stdout, &stderr
	require.NoError(t, run.Run(), "%s", &stderr)

	r, err := rundir.Open(root, filepath.Base(strings.TrimSpace(stdout.String())), nil)
	require.NoError(t, err)
	units, err := r.Units()
	require.NoError(t, err)
	require.Len(t, units, 3)
	for _, u := range units {
		require.Equal(t, result.Pass, u.Outcome, "%s: %s", u.ID, u.Reason)
		require.Equal(t, "scripted", u.Endpoint)
		require.NotEmpty(t, u.Metrics.ToolCalls, u.ID)
		require.Equal(t, 1, u.Metrics.Changes.Modified, "%s fixes one file", u.ID)
	}
	for _, v := range r.Manifest().Variants {
		require.NotEmpty(t, v.Env, v.ID)
		require.True(t, strings.HasSuffix(v.Env[0], "_API_KEY"), "%s: %v", v.ID, v.Env)
	}
	key := []byte("sk-test-" + "not-a-key") // of the presets
	require.NotContains(t, stdout.String()+stderr.String(), string(key))
	require.NoError(t, filepath.WalkDir(r.Dir(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		require.False(t, bytes.Contains(data, key), path)
		return err
	}))
}

// programs is the directory of the built command.
var programs string

func TestMain(m *testing.M) {
	var err error
	if programs, err = os.MkdirTemp("", "livetest-"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(programs)
	os.Exit(code)
}

// build builds the command, once.
var build = sync.OnceValues(func() (string, error) {
	program := filepath.Join(programs, "sdd-eval")
	out, err := exec.Command("go", "build", "-o", program, "../../cmd/sdd-eval").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, out)
	}
	return program, err
})

// buildCommand returns the path of the built command.
func buildCommand(t *testing.T) string {
	t.Helper()
	require.NotNil(t, linked)
	program, err := build()
	require.NoError(t, err)
	return program
}

package livetest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/modelserver"
)

// agents are the programs that the suites' variants start.
var agents = []string{"claude-agent-acp", "claude-code-acp", "codex-acp"}

// TestLive runs the suites with the real agents, twice, while a scripted model answers them. The two recordings, and the
// committed one, must be the same behaviour.
func TestLive(t *testing.T) {
	bin, err := filepath.Abs("../../fixtures/agents/node_modules/.bin")
	require.NoError(t, err)
	requireAgents(t, bin)
	presets := startModel(t)
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("EVALTEST_MODE", "record")
	t.Setenv("EVALTEST_RECORD_IN_CI", "1")
	first, second := t.TempDir(), t.TempDir()
	t.Run("first", func(t *testing.T) {
		evaltest.Describe(t, "../../evals/*/*.yaml", evaltest.Cassettes(first), evaltest.ConfigDir(presets))
	})
	t.Run("second", func(t *testing.T) {
		evaltest.Describe(t, "../../evals/*/*.yaml", evaltest.Cassettes(second), evaltest.ConfigDir(presets))
	})
	t.Run("equal", func(t *testing.T) {
		sameCassettes(t, first, second)
		sameCassettes(t, filepath.Join("..", "..", "cassettes"), second)
	})
}

// requireAgents skips the test where the agents cannot run; in CI that is an error.
func requireAgents(t *testing.T, bin string) {
	t.Helper()
	missing := ""
	if _, err := exec.LookPath("node"); err != nil {
		missing = "node, which the real agents run on, is not in PATH"
	}
	for _, a := range agents {
		if _, err := os.Stat(filepath.Join(bin, a)); err != nil {
			missing = "the real agents are not installed: `make agents` installs them with npm"
		}
	}
	switch {
	case missing != "" && os.Getenv("CI") != "":
		t.Fatal(missing)
	case missing != "":
		t.Skip(missing)
	}
}

// startModel starts the scripted model and returns a directory with presets that point at it.
func startModel(t *testing.T) string {
	t.Helper()
	scripts, err := modelserver.Load("../../fixtures/models")
	require.NoError(t, err)
	server, err := modelserver.New(scripts)
	require.NoError(t, err)
	server.Latency, server.Pause = 500*time.Millisecond, 250*time.Millisecond // as with-model has it
	address, err := server.Start()
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, server.Err(), "the scripted model was asked what it cannot answer")
		require.NoError(t, server.Close())
	})
	dir := t.TempDir()
	require.NoError(t, modelserver.WritePresets(dir, address))
	return dir
}

// sameCassettes compares all cassettes below two directories.
func sameCassettes(t *testing.T, a, b string) {
	t.Helper()
	names := cassettes(t, a)
	require.Equal(t, names, cassettes(t, b))
	for _, name := range names {
		x, err := cassette.Read(filepath.Join(a, name))
		require.NoError(t, err)
		y, err := cassette.Read(filepath.Join(b, name))
		require.NoError(t, err)
		diffs, err := cassette.Compare(x, y)
		require.NoError(t, err)
		for _, d := range diffs {
			t.Errorf("%s (-%s +%s): %s", name, a, b, d)
		}
	}
}

func cassettes(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	require.NoError(t, filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".jsonl") {
			path, err = filepath.Rel(dir, path)
			names = append(names, path)
		}
		return err
	}))
	require.NotEmpty(t, names, dir)
	return names
}

package livetest

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/testkit/modelserver"
)

// alike are suites that ask agents for more of what they do in others. They are recorded under one sandbox only.
var alike = []string{"changelog.eval.yaml", "fix-bug.yaml", "questions.eval.yaml", "refactor.yaml"}

// TestRealAgents runs the suites with the real agents under one sandbox, then under another, while a scripted model
// answers them. The two recordings, and the committed one, must be the same behaviour.
func TestRealAgents(t *testing.T) {
	bin := agentsBin(t)
	requireAgents(t, bin)
	presets := startModel(t, "../../fixtures/models")
	t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("EVALTEST_MODE", "record")
	t.Setenv("EVALTEST_RECORD_IN_CI", "1")
	dirs, runs := make(map[confine.Kind]string), make(map[confine.Kind]string)
	all := suites(t)
	some := slices.DeleteFunc(slices.Clone(all), func(suite string) bool {
		return slices.Contains(alike, filepath.Base(suite))
	})
	require.Len(t, some, len(all)-len(alike))
	of := map[confine.Kind][]string{confine.Bwrap: all, confine.Landlock: some}
	for _, kind := range []confine.Kind{confine.Bwrap, confine.Landlock} {
		dirs[kind], runs[kind] = t.TempDir(), t.TempDir()
		t.Run(string(kind), func(t *testing.T) {
			t.Setenv("EVALTEST_SANDBOX", string(kind))
			t.Setenv("EVALTEST_RUN_DIR", runs[kind])
			describe(t, of[kind], dirs[kind], presets)
		})
		t.Run(string(kind)+" confines", func(t *testing.T) { confinedBy(t, of[kind], dirs[kind], kind) })
	}
	t.Run("equal", func(t *testing.T) {
		sameCassettes(t, all, filepath.Join("..", "..", "cassettes"), dirs[confine.Bwrap])
		sameCassettes(t, some, dirs[confine.Bwrap], dirs[confine.Landlock])
	})
	t.Run("replayed", func(t *testing.T) {
		replayed := t.TempDir()
		t.Setenv("EVALTEST_MODE", "replay")
		t.Setenv("EVALTEST_RUN_DIR", replayed)
		t.Run("suites", func(t *testing.T) { describe(t, all, dirs[confine.Bwrap], t.TempDir()) })
		sameOutcomes(t, runs[confine.Bwrap], replayed)
	})
}

// describe runs suites side by side: agents spend most of their time with waiting for the model.
func describe(t *testing.T, suites []string, dir, presets string) {
	t.Helper()
	for _, suite := range suites {
		t.Run(filepath.Base(suite), func(t *testing.T) {
			t.Parallel()
			evaltest.Describe(t, suite, evaltest.Dirs{Cassettes: dir, Config: presets})
		})
	}
}

// suites returns the playbooks of real agents.
func suites(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../../evals/*/*.yaml")
	require.NoError(t, err)
	files = slices.DeleteFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		return !bytes.Contains(text, []byte("preset: loopback"))
	})
	require.NotEmpty(t, files)
	return files
}

// confinedBy expects that a kind of sandbox confined the agents of all recordings.
func confinedBy(t *testing.T, suites []string, dir string, kind confine.Kind) {
	t.Helper()
	for _, name := range cassettes(t, suites, dir) {
		c, err := cassette.Read(filepath.Join(dir, name))
		require.NoError(t, err)
		got, _, _ := strings.Cut(c.Header.Sandbox, " ") // before its version
		require.Equal(t, string(kind), got, name)
	}
}

// agentsBin returns the directory with the agents' programs: those that are pinned, or those that `make agents-latest`
// has installed.
func agentsBin(t *testing.T) string {
	t.Helper()
	bin, err := filepath.Abs(cmp.Or(os.Getenv(latestAgents), "../../fixtures/agents/node_modules/.bin"))
	require.NoError(t, err)
	return bin
}

// latestAgents is the variable by which `make agents-latest` names the directory with the programs.
const latestAgents = "SDD_EVAL_AGENTS"

// requireAgents skips the test where the agents cannot run; in CI that is an error.
func requireAgents(t *testing.T, bin string) {
	t.Helper()
	missing := ""
	if _, err := exec.LookPath("node"); err != nil {
		missing = "node, which the real agents run on, is not in PATH"
	}
	for _, suite := range suites(t) {
		p, err := plan.Load(suite, kinds.All())
		require.NoError(t, err)
		for _, v := range p.Variants {
			profile, _ := agent.Lookup(v.Agent.Kind)
			if _, err := os.Stat(filepath.Join(bin, cmp.Or(v.Agent.Command, profile.Command))); err != nil {
				missing = "the real agents are not installed: `make agents` installs them with npm"
			}
		}
	}
	switch {
	case missing != "" && os.Getenv("CI") != "":
		t.Fatal(missing)
	case missing != "":
		t.Skip(missing)
	}
}

// startModel starts the scripted model and returns a directory with presets that point at it. Codex has one of its own:
// it alone needs a model that takes its time, see [modelserver.Server].
func startModel(t *testing.T, scripts string) string {
	t.Helper()
	presets, codex := t.TempDir(), t.TempDir()
	require.NoError(t, modelserver.WritePresets(presets, serve(t, scripts, 0)))
	require.NoError(t, modelserver.WritePresets(codex, serve(t, scripts, 500*time.Millisecond)))
	require.NoError(t, os.Rename(filepath.Join(codex, "codex.toml"), filepath.Join(presets, "codex.toml")))
	// Claude takes zsh where there is one. That keeps here-documents in /tmp, which Landlock makes nobody's own, and
	// the functions by which Claude replaces grep come in one.
	claude, err := os.OpenFile(filepath.Join(presets, "claude-code.toml"), os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = claude.WriteString("CLAUDE_CODE_SHELL = 'bash'\n")
	require.NoError(t, err)
	require.NoError(t, claude.Close())
	return presets
}

// serve starts a scripted model with a latency and returns its address.
func serve(t *testing.T, scripts string, latency time.Duration) string {
	t.Helper()
	loaded, err := modelserver.Load(scripts)
	require.NoError(t, err)
	server, err := modelserver.New(loaded)
	require.NoError(t, err)
	server.Latency, server.Pause = latency, 250*time.Millisecond // as with-model has it
	address, err := server.Start()
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, server.Err(), "the scripted model was asked what it cannot answer")
		require.NoError(t, server.Close())
	})
	return address
}

// sameCassettes compares all cassettes of suites below two directories.
func sameCassettes(t *testing.T, suites []string, a, b string) {
	t.Helper()
	names := cassettes(t, suites, a)
	require.Equal(t, names, cassettes(t, suites, b))
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

// cassettes returns the names of suites' cassettes below a directory.
func cassettes(t *testing.T, suites []string, dir string) []string {
	t.Helper()
	var names []string
	for _, suite := range suites {
		of := filepath.Join(dir, "evals", filepath.Base(filepath.Dir(suite)))
		require.NoError(t, filepath.WalkDir(of, func(path string, _ os.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".jsonl") {
				path, err = filepath.Rel(dir, path)
				names = append(names, path)
			}
			return err
		}))
	}
	require.NotEmpty(t, names, dir)
	return names
}

//go:build latest

package livetest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
)

// TestLatest records the suite of all agents with the newest versions of them, and writes how they differ from the
// recordings with those that are pinned: `make agents-latest`.
func TestLatest(t *testing.T) {
	bin := agentsBin(t)
	requireAgents(t, bin)
	recorded := t.TempDir()
	presets := startModel(t, "../../fixtures/models")
	t.Run("suite", func(t *testing.T) {
		t.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		t.Setenv("EVALTEST_MODE", "record") // here alone: the command that the other test runs would refuse it
		t.Setenv("EVALTEST_RECORD_IN_CI", "1")
		evaltest.Describe(t, "../../evals/agents/agents.yaml", evaltest.Dirs{Cassettes: recorded, Config: presets})
	})
	t.Run("permissions", TestRealReject)

	report := "| variant | pinned | latest | behaviour |\n|---|---|---|---|\n"
	pinned, err := filepath.Glob("../../cassettes/evals/agents/agents/comment/*.jsonl")
	require.NoError(t, err)
	for _, file := range pinned {
		report += compareLatest(t, file, filepath.Join(recorded, "evals/agents/agents/comment", filepath.Base(file)))
	}
	t.Log("\n" + report)
	if to := os.Getenv("SDD_EVAL_AGENTS_REPORT"); to != "" {
		require.NoError(t, os.WriteFile(to, []byte(report), 0o644))
	}
}

// compareLatest returns the report's row of one agent.
func compareLatest(t *testing.T, pinned, latest string) string {
	t.Helper()
	was, err := cassette.Read(pinned)
	require.NoError(t, err)
	variant, _, _ := strings.Cut(filepath.Base(pinned), ".")
	is, err := cassette.Read(latest)
	if err != nil {
		t.Errorf("%s: %v", variant, err)
		return fmt.Sprintf("| %s | %s | | was not recorded, see above |\n", variant, was.Header.Agent.Version)
	}
	version := is.Header.Agent.Version
	is.Header.Agent.Version = was.Header.Agent.Version // which the row has
	diffs, err := cassette.Compare(was, is)
	require.NoError(t, err)
	behaviour := "the same"
	if len(diffs) > 0 {
		behaviour = fmt.Sprintf("differs in %d places", len(diffs))
		for _, d := range diffs {
			t.Logf("%s: (-pinned +latest): %s", variant, d)
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s |\n", variant, was.Header.Agent.Version, version, behaviour)
}

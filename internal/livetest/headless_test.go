package livetest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/evaltest"
	"github.com/sdd-eval/sdd-eval/evaltest/trajectory"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
)

// TestRealHeadless records Claude with its adapter and without, while the same scripted model answers both: they do the
// same. The recordings are then replayed with no agent in PATH.
func TestRealHeadless(t *testing.T) {
	bin := agentsBin(t)
	requireAgents(t, bin)
	presets, path, dir := startModel(t, "testdata/headless-models"), os.Getenv("PATH"), t.TempDir()
	for _, mode := range []string{"record", "replay"} {
		t.Run(mode, func(t *testing.T) {
			t.Setenv("EVALTEST_RECORD_IN_CI", "1")
			t.Setenv("EVALTEST_MODE", mode)
			if mode == "record" {
				t.Setenv("PATH", bin+string(os.PathListSeparator)+path)
			}
			evaltest.Describe(t, "testdata/headless*.yaml", evaltest.Dirs{Cassettes: dir, Config: presets})
		})
	}
	for _, unit := range []string{"headless/round", "headless-permissions/task"} {
		unit := filepath.Join(dir, "internal/livetest/testdata", unit)
		adapter, cli := readCassette(t, unit, "adapter"), readCassette(t, unit, "cli")
		if diff := cmp.Diff(common(adapter), common(cli)); diff != "" {
			t.Errorf("%s: (-with the adapter +without):\n%s", unit, diff)
		}
	}
}

func readCassette(t *testing.T, unit, variant string) *cassette.Cassette {
	t.Helper()
	c, err := cassette.Read(filepath.Join(unit, variant+".1.jsonl"))
	require.NoError(t, err)
	return c
}

// common are the turns of a session, with what they changed, without what has to differ between an adapter and none:
//
//   - questions for a permission, and the files that they say a command touches: who is not asked while the agent works
//     has answered before
//   - what is said to the model of a call that was denied, which is the one who denied it saying so
//   - the change that the adapter shows of an edit that failed, though none was made
//   - notices, which are about the connection, and the session's state but for what it cost: its title, which the
//     adapter has a model make, how full the context is, and which commands users could type
func common(c *cassette.Cassette) []cassette.Turn {
	var turns []cassette.Turn
	for _, t := range c.Turns {
		turn, denied := cassette.Turn{Delta: t.Delta}, make(map[string]bool)
		for _, e := range t.Events {
			switch b := e.Body.(type) {
			case trajectory.Notice:
				continue
			case trajectory.Permission:
				denied[b.ID] = b.Decision == "reject" || b.Decision == "cancelled"
				continue
			case trajectory.State:
				e.Body = trajectory.State{Cost: b.Cost}
			case trajectory.ToolStart:
				if b.Kind == "execute" {
					b.Locations = nil
				}
				e.Body = b
			case trajectory.ToolEnd:
				if b.Status == trajectory.Failed {
					b.Diffs = nil
				}
				if denied[b.ID] {
					b.Output, b.Printed = nil, ""
				}
				e.Body = b
			}
			turn.Events = append(turn.Events, trajectory.Event{Turn: e.Turn, Body: e.Body})
		}
		turns = append(turns, turn)
	}
	return turns
}

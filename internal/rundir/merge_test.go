package rundir

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
)

// planned is the manifest of a plan that has parts, with two cases of two arms.
func planned() Manifest {
	m := demo(1)
	for i, id := range m.Units {
		m.Units[i] = strings.TrimPrefix(id, "evals/")
	}
	return m
}

// shardOf is a part of a plan, the shard of a case if the division is "d".
func shardOf(index int) Part {
	return Part{Shard: index, Of: 2, By: "by a hash of the cases", Division: "d"}
}

// newPart makes the run of a part that has these units, all of which passed, but for what change does to them, and
// opens it as merge does. It has ended.
func newPart(t *testing.T, m Manifest, p Part, units []string, change func(*result.Unit)) *Run {
	t.Helper()
	m.TakePart(p, []byte(playbookText), []string{"build"}, func(id string) bool { return slices.Contains(units, id) })
	run := newRun(t, t.TempDir(), m)
	for _, id := range m.Units {
		u := unit(id)
		if change != nil {
			change(&u)
		}
		require.NoError(t, run.Append(u))
	}
	require.NoError(t, run.AppendJob(result.Job{ID: "build", Outcome: result.Pass}))
	require.NoError(t, run.Finish(StateFinished))
	opened, err := OpenAt(run.Dir())
	require.NoError(t, err)
	return opened
}

// fails has a unit fail.
func fails(u *result.Unit) {
	u.Outcome, u.Evaluations[0].Outcome, u.Evaluations[0].Score = result.Fail, result.Fail, new(0.0)
	u.Evaluations[0].Reason = "not as wanted"
}

// TestMerge: the merged run has the units in the plan's order, each case whole, and waits for the jobs after them.
func TestMerge(t *testing.T) {
	m := planned()
	one, two := m.Units[:2], m.Units[2:]
	first, second := newPart(t, m, shardOf(1), one, nil), newPart(t, m, shardOf(2), two, fails)
	merged, err := Merge(t.Context(), t.TempDir(), "", time.Time{}, []*Run{second, first}, nil)
	require.NoError(t, err)
	defer merged.Close()
	require.Equal(t, StateFinished, merged.State)
	require.Empty(t, merged.Missing)
	got := merged.Manifest()
	require.Nil(t, got.Part)
	require.Equal(t, m.Units, got.Units)
	require.Equal(t, m.Jobs, got.Jobs)
	units, err := merged.Units()
	require.NoError(t, err)
	require.Equal(t, m.Units, ids(units))
	require.Equal(t, result.Fail, units[3].Outcome)
	jobs, err := merged.Jobs()
	require.NoError(t, err)
	require.Len(t, jobs, 1, "report runs where the parts are merged")
}

// TestMergeOfUnfinished: a part whose process was killed when all units had results was not searched for secrets, and
// its process may still write. The merged run is no finished one.
func TestMergeOfUnfinished(t *testing.T) {
	m := planned()
	first, second := newPart(t, m, shardOf(1), m.Units[:2], nil), newPart(t, m, shardOf(2), m.Units[2:], nil)
	mask := new(secret.Set)
	mask.Mark("KEY", "a-key-that-was-written")
	leak := filepath.Join(second.UnitDirs("two", "a", 1).Artifacts, "leak.txt")
	require.NoError(t, os.MkdirAll(filepath.Dir(leak), 0o755))
	require.NoError(t, os.WriteFile(leak, []byte("the key is a-key-that-was-written"), 0o600))
	for _, state := range []State{StateRunning, StateInterrupted} {
		require.NoError(t, second.setState(state, nil, nil))
		merged, err := Merge(t.Context(), t.TempDir(), "", time.Time{}, []*Run{first, second}, mask)
		require.NoError(t, err)
		copied, err := os.ReadFile(filepath.Join(merged.UnitDirs("two", "a", 1).Artifacts, "leak.txt"))
		require.NoError(t, err)
		require.NotContains(t, string(copied), "a-key-that")
		require.Equal(t, StateInterrupted, merged.State)
		require.Len(t, merged.Missing, 1)
		require.Contains(t, merged.Missing[0], second.Dir()+") has not ended ("+string(state)+")")
		require.Contains(t, merged.Manifest().Stopped, "has not ended")
		require.NoError(t, merged.Close())
	}
}

// TestMergeRefuses: parts that do not make one run are told with their directories, and nothing is made of them.
func TestMergeRefuses(t *testing.T) {
	m := planned()
	one, two := m.Units[:2], m.Units[2:]
	first, second := newPart(t, m, shardOf(1), one, nil), newPart(t, m, shardOf(2), two, nil)
	byIDs := Part{By: "by their ids"}
	stale, foreign := planned(), planned()
	stale.Mode = "replay"
	foreign.Name = "other"
	for i, id := range foreign.Units {
		foreign.Units[i] = strings.Replace(id, "demo", "other", 1)
	}
	whole := newRun(t, t.TempDir(), m)
	for name, tt := range map[string]struct {
		parts []*Run
		want  []string // with the directories of the parts
	}{
		"nothing": {nil, []string{"there are no runs"}},
		"whole":   {[]*Run{first, whole}, []string{whole.Dir() + " is no part of a run"}},
		"doubled": {
			[]*Run{first, second, newPart(t, m, shardOf(2), two, nil)},
			[]string{"doubled: shard 2 of 2 (" + second.Dir() + ") is also in "},
		},
		"a unit doubled": {
			[]*Run{first, newPart(t, m, shardOf(2), m.Units[1:], nil)},
			[]string{"doubled: the unit " + one[1] + " is in shard 1 of 2 (" + first.Dir() + ") and in shard 2 of 2"},
		},
		"two outcomes": {
			[]*Run{newPart(t, m, byIDs, one, nil), newPart(t, m, byIDs, one[1:], fails)},
			[]string{"doubled: the unit " + one[1] + " ended as pass in a part of a plan (", "and as fail in a part"},
		},
		"lost": {
			[]*Run{first, newPart(t, m, shardOf(2), two[1:], nil)},
			[]string{"lost: all of the 2 shards are here, and none has the unit " + two[0]},
		},
		"stale": {
			[]*Run{first, newPart(t, stale, shardOf(2), two, nil)},
			[]string{"stale: shard 1 of 2 (" + first.Dir() + ") and shard 2 of 2 (", "mode live and mode replay"},
		},
		"foreign": {
			[]*Run{first, newPart(t, foreign, shardOf(2), foreign.Units[2:], nil)},
			[]string{"foreign: shard 2 of 2 (", " is of the playbook other, and shard 1 of 2"},
		},
		"divided otherwise": {
			[]*Run{first, newPart(t, m, Part{Shard: 2, Of: 2, By: "packed", Division: "e"}, two, nil)},
			[]string{"foreign: ", "were not divided alike (by a hash of the cases; packed)"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			_, err := Merge(t.Context(), root, "", time.Time{}, tt.parts, nil)
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
			left, err := List(root)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}

	// A unit that two parts have alike counts once.
	merged, err := Merge(t.Context(), t.TempDir(), "", time.Time{},
		[]*Run{newPart(t, m, byIDs, one, nil), newPart(t, m, byIDs, m.Units[1:], nil)}, nil)
	require.NoError(t, err)
	units, err := merged.Units()
	require.NoError(t, err)
	require.Equal(t, m.Units, ids(units))
	require.NoError(t, merged.Close())

	// The directory of a part may be a copy that has lost or changed something.
	results := filepath.Join(second.Dir(), ResultsFile)
	data, err := os.ReadFile(results)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(results, append(data, "garbage\n"...), 0o600))
	_, err = Merge(t.Context(), t.TempDir(), "", time.Time{}, []*Run{first, second}, nil)
	require.ErrorContains(t, err, results+":3: ")
	require.NoError(t, os.Remove(results))
	_, err = Merge(t.Context(), t.TempDir(), "", time.Time{}, []*Run{first, second}, nil)
	require.ErrorContains(t, err, results)
}

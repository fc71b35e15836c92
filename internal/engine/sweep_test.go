package engine_test

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// TestSweepReplay replays a session whose workspace gets a secret from one of the places that it can come from.
func TestSweepReplay(t *testing.T) {
	const value = "a-value-that-nobody-may-see"
	added := func(path, text string) []workspace.Change {
		return []workspace.Change{{Path: path, Op: workspace.Added, Kind: workspace.File, Data: []byte(text)}}
	}
	tests := []struct {
		name    string
		source  map[string]string // files of the template, path to text
		seeds   string            // files of the case, as YAML
		before  string            // a step before the agent is asked, as YAML
		changes []workspace.Change
		leak    string // what the reason names; empty: there is no leak
	}{
		{name: "nothing", source: map[string]string{"a.txt": "x"}, seeds: "b.txt: y", changes: added("z.txt", "z")},
		{name: "in a file of the template", source: map[string]string{"a.txt": "x" + value}, leak: "a.txt"},
		{name: "in the name of a file of the template", source: map[string]string{"a-" + value: "x"}, leak: "its name"},
		{name: "in a file of the case", seeds: "b.txt: y " + value, leak: "b.txt"},
		{name: "in the name of a file of the case", seeds: value + ".txt: y", leak: "its name"},
		{
			name:   "in a file that a step wrote before the agent was asked",
			before: "{run: git config --file s.txt a.b " + value + "}", leak: "s.txt",
		},
		{name: "in a file that the agent wrote", changes: added("z.txt", value), leak: "z.txt"},
		{name: "in the name of one", changes: added(value, "z"), leak: "its name"},
		{
			name:    "in the target of a link",
			changes: []workspace.Change{{Path: "link", Op: workspace.Added, Kind: workspace.Symlink, Target: value}},
			leak:    "link",
		},
		{
			name: "in a file of a turn that fails",
			changes: append(added("a.txt", value),
				workspace.Change{Path: "z.txt", Op: workspace.Modified, Kind: workspace.File, Data: []byte("z")}),
			leak: "a.txt",
		},
		{
			name:    "in a file that stays in the cassette",
			changes: added("z.txt", value+string(bytes.Repeat([]byte("0123456789abcde\n"), 1<<20))),
			leak:    "z.txt",
		},
	}
	if soak.Raced() {
		tests = tests[:len(tests)-1] // the large one
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			require.NoError(t, os.Mkdir(filepath.Join(root, "src"), 0o755))
			for path, text := range tt.source {
				require.NoError(t, os.WriteFile(filepath.Join(root, "src", path), []byte(text), 0o644))
			}
			seeded := strings.Replace(benchPlaybook, "task: {prompt: Do it.}",
				"cases: [{id: task, prompt: Do it., files: {"+tt.seeds+"}}]", 1)
			if tt.before != "" {
				seeded = strings.Replace(seeded, "{uses: builtin:sdd-eval/acp.prompt}",
					tt.before+", {uses: builtin:sdd-eval/acp.prompt}", 1)
			}
			text := seeded + "workspace: {from: src}\n"
			path := record(t, root, benchPlaybook)
			c, err := cassette.Read(path)
			require.NoError(t, err)
			c.Turns[0].Delta.Changes = tt.changes
			require.NoError(t, cassette.Write(disk.Tree(filepath.Dir(path)), path, c))

			secrets := new(secret.Set)
			runner, unit := newRunner(t, root, text, engine.Replay, func(cfg *engine.Config) {
				cfg.Secrets, cfg.Stale, cfg.Sandbox = secrets, engine.StaleWarns, "none"
				cfg.Keep = &engine.Keep{Below: root}
			})
			// A secret that is known from the first unit on, as those of presets are.
			told := sink{starts: func(plan.Unit) { secrets.Mark("TOKEN", value) }}
			done, err := runner.Run(t.Context(), &told)
			if strings.Contains(text, value) { // and so in the copy of the playbook
				require.ErrorContains(t, err, "leak: the run's directory held secrets")
			} else {
				require.NoError(t, err)
			}
			require.Len(t, told.units, 1)
			u := told.units[0]
			run, err := rundir.Open(root, done.ID, secrets)
			require.NoError(t, err)
			defer run.Close()
			runDirs := run.UnitDirs(unit.Case.ID, unit.Variant.ID, unit.Trial)
			found, err := secrets.Sweep(t.Context(), runDirs.Workspace)
			require.NoError(t, err)
			require.Empty(t, found, "what is kept is masked")
			if tt.leak == "" {
				require.Equal(t, result.Pass, u.Outcome, u.Reason)
				return
			}
			require.Equal(t, result.Error, u.Outcome)
			require.Contains(t, u.Reason, "leak: ")
			require.Contains(t, u.Reason, tt.leak)
			diff, err := os.ReadFile(filepath.Join(runDirs.Artifacts, "workspace.diff"))
			require.NoError(t, err)
			files, err := os.ReadDir(runDirs.Workspace)
			require.NoError(t, err)
			for _, f := range files {
				require.Contains(t, string(diff), f.Name(), "it is not what was prepared")
			}
		})
	}
}

// endsSink is a sink that does something when a unit has ended.
type endsSink struct {
	sink
	ends func(plan.Unit)
}

func (s *endsSink) UnitEnds(u plan.Unit, res result.Unit) {
	s.sink.UnitEnds(u, res)
	s.ends(u)
}

// TestSearchedAgain: what a unit left is searched again when the run ends if something that starts processes, which
// nothing confines, came after it, and else it is not.
func TestSearchedAgain(t *testing.T) {
	const value = "a-value-that-nobody-may-see"
	text := strings.Replace(benchPlaybook, "{uses: builtin:sdd-eval/acp.prompt}",
		"{uses: builtin:sdd-eval/acp.prompt}, {run: git --version}", 1)
	for name, trial := range map[string]int{"before another": 1, "last": 2} {
		t.Run(name, func(t *testing.T) {
			root, secrets := t.TempDir(), new(secret.Set)
			secrets.Mark("TOKEN", value)
			path := record(t, root, benchPlaybook)
			c, err := cassette.Read(path)
			require.NoError(t, err)
			c.Header.Unit = "bench/task/fake/2"
			second := cassette.Path(filepath.Join(root, "cassettes"), "bench", "task", "fake", 2)
			require.NoError(t, cassette.Write(disk.Tree(root), second, c))
			runner, _ := newRunner(t, root, text+"trials: {count: 2}\n", engine.Replay, func(cfg *engine.Config) {
				cfg.Secrets, cfg.Sandbox, cfg.Parallel = secrets, "none", 1
				cfg.Stale, cfg.Keep = engine.StaleWarns, &engine.Keep{Below: root}
			})
			told := endsSink{ends: func(u plan.Unit) {
				if u.Trial != trial {
					return
				}
				kept, err := filepath.Glob(filepath.Join(rundir.Below(root), "*", "variants", "fake", "cases", "task",
					strconv.Itoa(trial), "workspace"))
				require.NoError(t, err)
				require.Len(t, kept, 1)
				require.NoError(t, os.WriteFile(filepath.Join(kept[0], "a.txt"), []byte(value), 0o644))
			}}
			_, err = runner.Run(t.Context(), &told)
			if trial == 1 || runtime.GOOS != "linux" {
				require.ErrorContains(t, err, "leak: the run's directory held secrets")
			} else {
				require.NoError(t, err)
			}
			for _, u := range told.units {
				require.Equal(t, result.Pass, u.Outcome, u.Reason)
			}
		})
	}
}

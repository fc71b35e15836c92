package engine_test

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/session"
)

// wholePlaybook has an agent that follows agent.json, between two steps.
const wholePlaybook = `name: bench
cases: [{id: task, prompt: Do it., files: {case.txt: "of the case\n"}}]
variants: {fake: {agent: {kind: fake-acp, args: [agent.json]}}}
sandbox: {allow_commands: [sh]}
env: {pass: [XDG_DATA_HOME]}
workspace: {from: src}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [fake]}}
      steps:
        - uses: builtin:sdd-eval/workspace.prepare
        - run: sh -c 'echo before > before.txt; echo changed > dir/run.sh'
        - uses: builtin:sdd-eval/acp.prompt
        - {name: env, run: "sh -c 'echo after > made.txt; rm late.txt; env'"}
    after: {needs: [eval], steps: [{run: "sh -c 'echo ${{ run.run_id }}; pwd'"}, {run: git --version}]}
`

// wholeScript is that of its agent.
const wholeScript = `{"turns": [{"actions": [
  {"disk_write": {"path": "made.txt", "text": "one\ntwo\n"}}, {"disk_write": {"path": "late.txt", "text": "late\n"}},
  {"disk_write": {"path": "stock.txt", "text": "tea 3\ncoffee 7\n"}},
  {"exec": {"command": "rm", "args": ["dir/run.sh"]}},
  {"tool": {"name": "Read", "kind": "read", "title": "Read stock"}}, {"say": {"text": "Done."}}]}]}`

// project makes a directory with these files, and those of the workspace that playbooks here begin with.
func project(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for _, all := range []map[string]string{
		{"src/stock.txt": "tea 3\ncoffee 2\n", "src/dir/run.sh": "echo\n", "agent.json": wholeScript}, files,
	} {
		for name, text := range all {
			path := filepath.Join(root, filepath.FromSlash(name))
			require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
			require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
		}
	}
	return root
}

// TestWhole holds what is kept of a unit that is recorded, and that its replay finds the same.
func TestWhole(t *testing.T) {
	t.Parallel()
	root := project(t, nil)
	text := wholePlaybook + `evaluators:
  - {name: left, type: files, expect: [{path: late.txt, exists: true}, {path: made.txt, equals: "one\ntwo\n"}]}
  - {name: given, type: files, expect: [{path: before.txt, exists: true}], required: false}
  - {name: late, type: files, after: steps, expect: [{path: late.txt, exists: false},
      {path: made.txt, equals: "after\n"}]}
`
	temp := t.TempDir()
	for _, mode := range []engine.Mode{engine.Record, engine.Replay} {
		runner, unit := newRunner(t, root, text, mode, unconfined, func(c *engine.Config) {
			c.Keep, c.TempDir = &engine.Keep{Below: root, Tool: "tester"}, temp
			c.Environ = []string{
				"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "XDG_CACHE_HOME=/nonexistent", "XDG_DATA_HOME=/data",
				"GOCACHE=/nonexistent",
			}
		})
		sunk := new(sink)
		done, err := runner.Run(t.Context(), sunk)
		require.NoError(t, err)
		require.Len(t, sunk.units, 1)
		u := sunk.units[0]
		require.Equal(t, result.Pass, u.Outcome, "%s: %s", mode, judged(u))
		watched := slices.ContainsFunc(sunk.doing, func(a session.Activity) bool { return a.Tool == "Read stock" })
		require.Equal(t, mode == engine.Record, watched, "people see the agent, and nothing of a replay")
		require.Contains(t, u.Evaluations[1].Reason, "a step before the agent left it so, not the agent")
		require.Equal(t, mode == engine.Replay, u.Replayed)
		require.Equal(t, mode == engine.Record, !u.SessionStarted.IsZero())
		require.Equal(t, runnerCassette, u.Session)
		require.Contains(t, strings.Join(sunk.notes, "\n"), "warning: nothing confines the agents and their code")
		require.Equal(t, 1, done.Listed)
		require.False(t, done.Resumable)
		require.Equal(t, result.Pass, done.Verdict.Outcome)
		left, err := os.ReadDir(temp)
		require.NoError(t, err)
		require.Empty(t, left, "what was made for the unit alone is gone")

		dirs := filesOf(t, root, done, unit)
		for name, want := range map[string]string{
			"made.txt": "after\n", "stock.txt": "tea 3\ncoffee 7\n", "case.txt": "of the case\n",
			"before.txt": "before\n",
		} {
			got, err := os.ReadFile(filepath.Join(dirs.Workspace, name))
			require.NoError(t, err)
			require.Equal(t, want, string(got), name)
		}
		var changes result.Changes
		readJSON(t, dirs, rundir.Changes, &changes)
		require.Equal(t, result.Changes{
			Added: 2, Modified: 1, Deleted: 1, Bytes: 8 + 5 + 15, Files: []result.FileChange{
				{Path: "dir/run.sh", Op: "deleted", Kind: "file", Bytes: 8, LinesAdded: new(0), LinesRemoved: new(1)},
				{Path: "late.txt", Op: "added", Kind: "file", Bytes: 5, LinesAdded: new(1), LinesRemoved: new(0)},
				{Path: "made.txt", Op: "added", Kind: "file", Bytes: 8, LinesAdded: new(2), LinesRemoved: new(0)},
				{Path: "stock.txt", Op: "modified", Kind: "file", Bytes: 15, LinesAdded: new(1), LinesRemoved: new(1)},
			},
		}, changes, "what the agent did, and not the steps")
		var metrics result.Metrics
		readJSON(t, dirs, rundir.Metrics, &metrics)
		require.Equal(t, &changes, metrics.Changes)
		diff, err := os.ReadFile(filepath.Join(dirs.Artifacts, rundir.Diff))
		require.NoError(t, err)
		require.Contains(t, string(diff), "+coffee 7")
		require.NotContains(t, string(diff), "before")
		var run struct{ Events []json.RawMessage }
		readJSON(t, dirs, rundir.Trajectory, &run)
		require.Len(t, run.Events, len(u.Run.Events))

		env := u.Steps[3].Output
		require.Contains(t, env, "XDG_DATA_HOME=/data", "the playbook passes it")
		for _, not := range []string{"HOME=/nonexistent", "XDG_CACHE_HOME=", "GOCACHE=/nonexistent"} {
			require.NotContains(t, "\n"+env, "\n"+not)
		}
		require.Len(t, sunk.jobs, 1)
		require.Equal(t, 2, sunk.jobs[0].Commands)
		require.Equal(t, done.ID+"\n"+done.Dir, sunk.jobs[0].Steps[0].Output, "it runs in the run's directory")
	}
}

// runnerCassette is the cassette of the playbook's only unit.
const runnerCassette = "cassettes/bench/task/fake.1.jsonl"

// filesOf returns where a unit of a run is kept.
func filesOf(t *testing.T, root string, done engine.Finished, u plan.Unit) rundir.UnitDirs {
	t.Helper()
	run, err := rundir.Open(root, done.ID, nil)
	require.NoError(t, err)
	defer run.Close()
	return run.UnitDirs(u.Case.ID, u.Variant.ID, u.Trial)
}

func readJSON(t *testing.T, dirs rundir.UnitDirs, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dirs.Artifacts, name))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, v), "%s", data)
}

// playbookIn reads a project's bench.yaml.
func playbookIn(t *testing.T, root string) *plan.Playbook {
	t.Helper()
	pb, err := plan.Read(
		plan.Source{Path: filepath.Join(root, "bench.yaml"), Name: "bench.yaml", Root: root}, kinds.All())
	require.NoError(t, err)
	return pb
}

// TestRehearsed holds that no cassette is written that is judged otherwise than the session that it was made of.
func TestRehearsed(t *testing.T) {
	t.Parallel()
	const judge = "if [ -e \"$0.seen\" ]; then echo '{\"score\": 0}'; else echo '{\"score\": 1}'; fi\n%s"
	text := strings.Replace(wholePlaybook, "; rm late.txt", "", 1) +
		"evaluators: [{name: script, type: code_judge, script: [sh, judge.sh]}]\n"
	for last, want := range map[string]string{
		"": "", "touch \"$0.seen\"\n": "no cassette was written, because its replay ends differently: " +
			"evaluator script: live pass, in the replay fail",
	} {
		root := project(t, map[string]string{"bench.yaml": text, "judge.sh": strings.Replace(judge, "%s", last, 1)})
		runner, unit := runnerOf(t, root, playbookIn(t, root), engine.Record, unconfined)
		u := runner.Unit(t.Context(), unit, io.Discard)
		require.Contains(t, u.Reason, want)
		require.Equal(t, want == "", u.Outcome == result.Pass, judged(u))
		require.Equal(t, want == "", cassette.Exists(runner.CassettePath(unit)))
	}
}

// TestResumeChanged resumes a run after what judges its units has changed, and after what does not.
func TestResumeChanged(t *testing.T) {
	t.Parallel()
	text := strings.Replace(wholePlaybook, "    after:", "    more:", 1) + `evaluators:
  - {name: script, type: code_judge, script: [sh, judges/judge.sh], required: false}
  - {name: golden, type: files, expect: [{path: case.txt, golden: golden.txt}]}
`
	tests := []struct {
		name, file, text string // the text that the file gets, gone if empty
		want             string // what is told of it; empty: nothing
	}{
		{"nothing", "src/stock.txt", "tea 3\ncoffee 2\n", ""},
		{"a golden", "golden.txt", "another\n", "golden.txt has changed"},
		{"a file beside a judge", "judges/lib/a.sh", "# another\n", "judges/lib/a.sh has changed"},
		{"one that is new", "judges/lib/b.sh", "#\n", "judges/lib/b.sh is new"},
		{"one that is gone", "judges/lib/a.sh", "", "judges/lib/a.sh is gone"},
		{"one of another kind", "judges/lib/b.txt", "notes\n", ""},
		{"one that nobody imports", "judges/.cache/b.sh", "#\n", ""},
		{"a package of others", "judges/node_modules/b.sh", "#\n", ""},
		{"a file of the workspace", "src/stock.txt", "tea 4\n", "src has changed"},
		{"a new file of the workspace", "src/new.txt", "tea 4\n", "src has changed"},
		{"git's own", "src/.git/index", "x", ""},
		{"our own", "src/.llman/x", "x", ""},
	}
	root := project(t, map[string]string{
		"bench.yaml": text, "golden.txt": "of the case\n", "judges/judge.sh": "echo '{\"score\": 1}'\n",
		"judges/lib/a.sh": "#\n",
	})
	pb := playbookIn(t, root)
	interrupted := func() string {
		runner, _ := runnerOf(t, root, pb, engine.Live, unconfined,
			func(c *engine.Config) { c.Keep = &engine.Keep{Below: root} })
		ctx, cancel := context.WithCancel(t.Context())
		done, err := runner.Run(ctx, &sink{starts: func(plan.Unit) { cancel() }})
		require.NoError(t, err)
		require.True(t, done.Resumable)
		return done.ID
	}
	resume := func(id string, accept bool) ([]string, error) {
		resumed, err := rundir.Resume(root, id, nil)
		require.NoError(t, err)
		runner, _ := runnerOf(t, root, pb, engine.Live, unconfined, func(c *engine.Config) {
			c.Keep = &engine.Keep{Resumed: resumed, AcceptChanged: accept}
		})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sunk := &sink{starts: func(plan.Unit) { cancel() }}
		_, err = runner.Run(ctx, sunk)
		return sunk.notes, err
	}
	id := interrupted()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			path := filepath.Join(root, filepath.FromSlash(tt.file))
			before, err := os.ReadFile(path)
			if err == nil {
				defer func() { require.NoError(t, os.WriteFile(path, before, 0o644)) }()
			} else {
				require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
				defer os.Remove(path)
			}
			if tt.text == "" {
				require.NoError(t, os.Remove(path))
			} else {
				require.NoError(t, os.WriteFile(path, []byte(tt.text), 0o644))
			}
			_, err = resume(id, false)
			if tt.want == "" {
				require.NoError(t, err)
				return
			}
			var input *engine.InputError
			require.ErrorAs(t, err, &input)
			require.EqualError(t, err,
				"since the run began, what its units are judged by is no longer the same:\n  "+tt.want)
			notes, err := resume(interrupted(), true)
			require.NoError(t, err)
			require.NotContains(t, strings.Join(notes, "\n"), "accepted: ", "nothing has changed since it began")
		})
	}
	for i := range 12 {
		path := filepath.Join(root, "judges", "lib", "n"+string(rune('a'+i))+".sh")
		require.NoError(t, os.WriteFile(path, nil, 0o644))
	}
	_, err := resume(id, false)
	require.ErrorContains(t, err, "  judges/lib/nj.sh is new\n  and 2 more")
	notes, err := resume(id, true)
	require.NoError(t, err)
	require.Contains(t, strings.Join(notes, "\n"), "accepted: judges/lib/na.sh is new since the run began")
	_, err = resume(id, false)
	require.NoError(t, err, "it was accepted")
}

// TestMissingPrograms holds that a unit without the programs that it requires is skipped, and an error in CI.
func TestMissingPrograms(t *testing.T) {
	root := recorded(t, 1)
	tests := []struct {
		name, requires, ci string
		outcome            result.Outcome
		reason             string
	}{
		{"there", "[git]", "", result.Pass, ""},
		{
			"missing", "[git, no-such-1, no-such-2]", "", result.Skip,
			"bench.yaml requires no-such-1, no-such-2, not found in PATH",
		},
		{
			"missing in CI", "[no-such-1]", "true", result.Error,
			"bench.yaml requires no-such-1, not found in PATH; CI is set, so this is an error",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			runner, unit := newRunner(t, root, benchPlaybook+"requires: "+tt.requires+"\n", engine.Replay,
				func(c *engine.Config) {
					c.Getenv = func(name string) string { return map[string]string{"CI": tt.ci}[name] }
				})
			require.True(t, runner.Impure(t.Context()), "it looks for programs")
			u := runner.Unit(t.Context(), unit, io.Discard)
			require.Equal(t, tt.outcome, u.Outcome)
			require.Equal(t, tt.reason, u.Reason)
			if tt.outcome == result.Error {
				require.Equal(t, "install no-such-1", u.Next)
			}
		})
	}
}

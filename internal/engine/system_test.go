package engine_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/confine"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/fault"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// runOf returns the directory of the only run below root.
func runOf(t *testing.T, root string) string {
	t.Helper()
	manifests, err := filepath.Glob(filepath.Join(rundir.Below(root), "*", "manifest.json"))
	require.NoError(t, err)
	require.Len(t, manifests, 1)
	return filepath.Dir(manifests[0])
}

// TestVanishedInput: a run whose playbook names a file that is gone does not begin.
func TestVanishedInput(t *testing.T) {
	root := project(t, map[string]string{
		"golden.txt": "one\n", "bench.yaml": wholePlaybook +
			"evaluators: [{type: files, expect: [{path: case.txt, golden: golden.txt}]}]\n",
	})
	pb := playbookIn(t, root)
	require.NoError(t, os.Remove(filepath.Join(root, "golden.txt")))
	runner, _ := runnerOf(t, root, pb, engine.Live, unconfined,
		func(c *engine.Config) { c.Keep = &engine.Keep{Below: root} })
	_, err := runner.Run(t.Context(), new(sink))
	var input *engine.InputError
	require.ErrorAs(t, err, &input)
	require.ErrorContains(t, err, "read what the playbook names: open ")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestLostRun: that a run's directory was not searched for secrets is an error, unless the run was interrupted, when it
// is a note: the search is made when it is resumed.
func TestLostRun(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		root := recorded(t, 1)
		text := strings.Replace(benchPlaybook, "acp.prompt}]", "acp.prompt}, {run: git --version}]", 1)
		runner, _ := newRunner(t, root, text, engine.Replay, unconfined,
			func(c *engine.Config) { c.Keep = &engine.Keep{Below: root} })
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		sunk := new(sink)
		sunk.starts = func(plan.Unit) {
			dir := runOf(t, root)
			require.NoError(t, os.Rename(dir, dir+".gone"))
			require.NoError(t, os.WriteFile(dir, nil, 0o644))
			if interrupted {
				cancel()
			}
		}
		_, err := runner.Run(ctx, sunk)
		notes := strings.Join(sunk.notes, "\n")
		const search, note = "look for secrets in the run's directory: ", "was not searched for secrets to its end"
		require.Error(t, err)
		require.Equal(t, !interrupted, strings.Contains(err.Error(), search), "%v", err)
		require.Equal(t, interrupted, strings.Contains(notes, note), notes)
	}
}

// TestTakenPlace: an agent, or a step after it, that puts something in the place where its workspace is kept leads
// nothing elsewhere, and a workspace that is not kept is an error.
func TestTakenPlace(t *testing.T) {
	for _, tt := range []struct {
		name, do, want string
		step           bool
	}{
		{"a link", "rmdir workspace; ln -s '%s' workspace", "the agent replaced ", false},
		{"a link of a step", "rmdir workspace; ln -s '%s' workspace", "the agent replaced ", true},
		{"a file", "ln -s '%s' workspace/link", "keep the workspace: ", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			root, elsewhere := project(t, nil), t.TempDir()
			script := filepath.Join(root, "take.sh")
			require.NoError(t, os.WriteFile(script, fmt.Appendf(nil, "set -e; cd '%s'/*/variants/fake; "+tt.do+"\n",
				rundir.Below(root), elsewhere), 0o644))
			text := wholePlaybook + "evaluators: [{type: files, expect: [{path: case.txt, exists: true}]}]\n"
			if tt.step {
				text = strings.Replace(text, "sh -c 'echo after > made.txt; rm late.txt; env'", "sh "+script, 1)
			} else {
				require.NoError(t, os.WriteFile(filepath.Join(root, "agent.json"), []byte(
					`{"turns": [{"actions": [{"exec": {"command": "sh", "args": ["`+script+`"]}}]}]}`), 0o644))
				text = strings.Replace(text, "rm late.txt", "true", 1)
			}
			runner, _ := newRunner(t, root, text, engine.Live, unconfined,
				func(c *engine.Config) { c.Keep = &engine.Keep{Below: root} })
			sunk := new(sink)
			_, err := runner.Run(t.Context(), sunk)
			require.NoError(t, err)
			require.Equal(t, result.Error, sunk.units[0].Outcome, judged(sunk.units[0]))
			require.Contains(t, sunk.units[0].Reason, tt.want)
			left, err := os.ReadDir(elsewhere)
			require.NoError(t, err)
			require.Empty(t, left)
		})
	}
}

// TestKeptWorkspace: a person may look at what an agent left, and nobody else, whatever modes it chose.
func TestKeptWorkspace(t *testing.T) {
	root := project(t, map[string]string{
		"agent.json": `{"turns": [{"actions": [{"exec": {"command": "chmod", "args": ["0777", "."]}}]}]}`,
	})
	text := strings.Replace(benchPlaybook, "{kind: fake-acp}", "{kind: fake-acp, args: [agent.json]}", 1)
	runner, unit := newRunner(t, root, text, engine.Live, unconfined,
		func(c *engine.Config) { c.Keep = &engine.Keep{Below: root} })
	done, err := runner.Run(t.Context(), new(sink))
	require.NoError(t, err)
	info, err := os.Stat(filesOf(t, root, done, unit).Workspace)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
}

// TestLiveChanges: what an agent did that no step follows is read from the disk.
func TestLiveChanges(t *testing.T) {
	root := project(t, nil)
	text := strings.Replace(benchPlaybook, "{kind: fake-acp}", "{kind: fake-acp, args: [agent.json]}", 1)
	runner, unit := newRunner(t, root, text+"workspace: {from: src}\n", engine.Live, unconfined,
		func(c *engine.Config) { c.Keep = &engine.Keep{Below: root} })
	done, err := runner.Run(t.Context(), new(sink))
	require.NoError(t, err)
	var changes result.Changes
	readJSON(t, filesOf(t, root, done, unit), rundir.Changes, &changes)
	require.Equal(t, 2, changes.Added, changes)
}

// TestLeftBefore: what an attempt before has left in the place of a workspace is gone.
func TestLeftBefore(t *testing.T) {
	root := recorded(t, 1)
	runner, unit := newRunner(t, root, benchPlaybook, engine.Replay,
		func(c *engine.Config) { c.Keep = &engine.Keep{Below: root} })
	sunk := new(sink)
	sunk.starts = func(u plan.Unit) {
		run, err := rundir.Open(root, filepath.Base(runOf(t, root)), nil)
		require.NoError(t, err)
		defer run.Close()
		dir := run.UnitDirs(u.Case.ID, u.Variant.ID, u.Trial).Workspace
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "left"), 0o755))
	}
	done, err := runner.Run(t.Context(), sunk)
	require.NoError(t, err)
	require.Equal(t, result.Pass, sunk.units[0].Outcome, sunk.units[0].Reason)
	require.NotContains(t, sunk.notes, "")
	require.NoDirExists(t, filepath.Join(filesOf(t, root, done, unit).Workspace, "left"))
}

// TestKeptNowhere: a replay that prepares no workspace has none that would be kept, and what git ignores is in the
// changes of one that has.
func TestKeptNowhere(t *testing.T) {
	root := project(t, map[string]string{"src/.gitignore": "*.log\n"})
	text := strings.Replace(benchPlaybook, "task: {prompt: Do it.}",
		"cases: [{id: task, prompt: Do it.}, {id: other, prompt: Do it.}]", 1) + "workspace: {from: src}\n"
	run := func(text string) (result.Unit, rundir.UnitDirs) {
		runner, unit := newRunner(t, root, text, engine.Replay, unconfined, func(c *engine.Config) {
			c.Keep = &engine.Keep{Below: root}
			c.Selected = func(u plan.Unit) bool { return u.Case.ID == "task" }
		})
		sunk := new(sink)
		done, err := runner.Run(t.Context(), sunk)
		require.NoError(t, err)
		require.Equal(t, result.Pass, sunk.units[0].Outcome, judged(sunk.units[0]))
		return sunk.units[0], filesOf(t, root, done, unit)
	}
	recordAs(t, root, text, []workspace.Change{
		{Path: "a.log", Op: workspace.Added, Kind: workspace.File, Data: []byte("1\n")},
		{Path: "b.txt", Op: workspace.Added, Kind: workspace.File, Data: []byte("2\n")},
	})
	u, _ := run(text)
	require.Equal(t, 2, u.Metrics.Changes.Added)

	text = strings.NewReplacer("{uses: builtin:sdd-eval/workspace.prepare}, ", "", "workspace: {from: src}\n", "").
		Replace(text)
	recordAs(t, root, text, nil)
	_, dirs := run(text)
	require.NoDirExists(t, dirs.Workspace)
}

// TestCauseOfUnit: whoever ended the run stands beside an error, whatever that says.
func TestCauseOfUnit(t *testing.T) {
	root := recorded(t, 1)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the user went home"))
	const missing = "bench.yaml requires no-such-1, not found in PATH"
	for ci, want := range map[string]string{
		"": missing, "1": missing + "; CI is set, so this is an error (the user went home)",
	} {
		runner, unit := newRunner(t, root, benchPlaybook+"requires: [no-such-1]\n", engine.Replay,
			func(c *engine.Config) {
				c.Getenv = func(name string) string { return map[string]string{"CI": ci}[name] }
			})
		u := runner.Unit(ctx, unit, io.Discard)
		require.Equal(t, want, u.Reason)
	}
}

// TestCachesOfAgents: an agent has its copy of a cache, which is no other's.
func TestCachesOfAgents(t *testing.T) {
	root := project(t, map[string]string{
		"agent.json": `{"turns": [{"actions": [{"exec": {"command": "sh", "args": ["-c",
			"cat $STOCK/list >> stock.txt; echo more >> $STOCK/list"]}}]}]}`,
		"cache/list": "tea\n",
	})
	text := wholePlaybook + "caches: [{dir: cache, env: STOCK, copy: true}]\n" +
		"evaluators: [{type: files, expect: [{path: stock.txt, contains: \"2\\ntea\\n\"}]}]\n"
	runner, unit := newRunner(t, root, text, engine.Live, unconfined)
	u := runner.Unit(t.Context(), unit, io.Discard)
	require.Equal(t, result.Pass, u.Outcome, judged(u))
	list, err := os.ReadFile(filepath.Join(root, "cache", "list"))
	require.NoError(t, err)
	require.Equal(t, "tea\n", string(list))
}

// TestFingerprintsOfPrograms: a recording names an agent's files as the playbook does, wherever the project is.
func TestFingerprintsOfPrograms(t *testing.T) {
	runner, unit := newRunner(t, project(t, nil), wholePlaybook, engine.Replay)
	f, err := runner.Fingerprints(t.Context(), unit)
	require.NoError(t, err)
	require.Contains(t, f.AgentFiles, "agent.json")
	require.Len(t, f.AgentFiles, 1)
}

// TestNoImplementation: an evaluator that nobody wrote is no reason to pass.
func TestNoImplementation(t *testing.T) {
	pb, err := plan.Parse("bench.yaml", []byte(benchPlaybook), kinds.All())
	require.NoError(t, err)
	planned, err := pb.Plan()
	require.NoError(t, err)
	planned.Units[0].Evaluators[0].Config = nil
	_, err = engine.New(planned, engine.Config{
		Command: func(engine.Mode, plan.Unit) string { return "" }, Getenv: os.Getenv,
	})
	require.ErrorContains(t, err, "bench.yaml:11: evaluator tool_trajectory has no implementation")
}

// TestPassedOver: whoever chose no kind of sandbox is told why it is not the strongest.
func TestPassedOver(t *testing.T) {
	bin := t.TempDir()
	for _, name := range []string{"sh", "git", "go"} { // and no bwrap
		path, err := exec.LookPath(name)
		require.NoError(t, err)
		require.NoError(t, os.Symlink(path, filepath.Join(bin, name)))
	}
	t.Setenv("PATH", bin)
	runner, _ := newRunner(t, project(t, nil), wholePlaybook, engine.Live)
	held, err := runner.Sandbox(t.Context())
	if err != nil {
		require.ErrorAs(t, err, new(*confine.UnavailableError), "there is no other kind here")
		return
	}
	require.Len(t, held.PassedOver, 1)
	ctx, cancel := context.WithCancel(t.Context())
	sunk := &sink{starts: func(plan.Unit) { cancel() }}
	_, err = runner.Run(ctx, sunk)
	require.NoError(t, err)
	require.True(t, slices.Contains(sunk.notes, "sandbox "+held.String()+"; "+held.PassedOver[0]), sunk.notes)
}

// TestGreet: an agent says hello where it could work, and nothing is left of that.
func TestGreet(t *testing.T) {
	temp := t.TempDir()
	greet := func(change ...func(*engine.Config)) (engine.Greeting, error) {
		runner, _ := newRunner(t, project(t, nil), wholePlaybook, engine.Live,
			append([]func(*engine.Config){unconfined, func(c *engine.Config) { c.TempDir = temp }}, change...)...)
		return runner.Greet(t.Context(), io.Discard)
	}
	g, err := greet()
	require.NoError(t, err)
	require.Equal(t, "fake-acp", g.Agent.Kind)
	require.Equal(t, confine.None, g.Sandbox.Kind)
	left, err := os.ReadDir(temp)
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = greet(func(c *engine.Config) { c.TempDir = filepath.Join(temp, "none") })
	require.ErrorContains(t, err, "make the unit's directories: ")
	t.Setenv("PATH", t.TempDir())
	_, err = greet(func(c *engine.Config) { c.Sandbox, c.TempDir = string(confine.Bwrap), filepath.Join(temp, "none") })
	require.ErrorAs(t, err, new(*confine.UnavailableError))
}

// TestRequired: a run whose sandbox lacks what is required does not begin, whoever requires it.
func TestRequired(t *testing.T) {
	required := string(confine.Sockets)
	for who, text := range map[string]string{
		"bench.yaml:4: sandbox.require": strings.Replace(wholePlaybook, "[sh]}", "[sh], require: ["+required+"]}", 1),
		"EVALTEST_SANDBOX_REQUIRE":      wholePlaybook,
	} {
		runner, _ := newRunner(t, project(t, nil), text, engine.Live, unconfined, func(c *engine.Config) {
			if text == wholePlaybook {
				c.SandboxRequire = []string{required}
			}
		})
		sunk := new(sink)
		_, err := runner.Run(t.Context(), sunk)
		unmet, ok := errors.AsType[*engine.UnmetError](err)
		require.True(t, ok, "%v", err)
		require.Equal(t, who, unmet.Who)
		require.Contains(t, fault.Advice(err), "install bubblewrap")
		require.Empty(t, sunk.units)
	}
}

// TestOurOwn: an agent does not see what we keep for go test in the project.
func TestOurOwn(t *testing.T) {
	root := project(t, map[string]string{".evaltest/never-cached": ""})
	text := benchPlaybook + "  - {name: own, type: files, expect: [{path: stock.txt, exists: false}, " +
		"{path: src/stock.txt, exists: true}, {path: .evaltest, exists: false}]}\nworkspace: {from: .}\n"
	text = strings.Replace(text, "  - {type: tool_trajectory", "  - {required: false, type: tool_trajectory", 1)
	runner, unit := newRunner(t, root, text, engine.Live, unconfined)
	u := runner.Unit(t.Context(), unit, io.Discard)
	require.Equal(t, result.Pass, u.Outcome, judged(u))
}

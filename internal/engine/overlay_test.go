package engine_test

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/action"
	"github.com/sdd-eval/sdd-eval/internal/cassette"
	"github.com/sdd-eval/sdd-eval/internal/disk"
	"github.com/sdd-eval/sdd-eval/internal/engine"
	"github.com/sdd-eval/sdd-eval/internal/evaluator"
	"github.com/sdd-eval/sdd-eval/internal/evaluator/kinds"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/rundir"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/workspace"
)

// TestTreesChangeNothing replays all recordings of this repository with directories and without: what starts a process,
// which has a directory in any case, is left out of the units.
func TestTreesChangeNothing(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	compared, judged := 0, 0
	for _, glob := range []string{"evals/*/*.yaml", "fixtures/playbooks/*.yaml"} {
		files, err := filepath.Glob(filepath.Join(root, glob))
		require.NoError(t, err)
		for _, file := range files {
			name, err := filepath.Rel(root, file)
			require.NoError(t, err)
			pb, err := plan.Read(plan.Source{Path: file, Name: name, Root: root}, kinds.All())
			require.NoError(t, err)
			planned, err := pb.Plan()
			require.NoError(t, err)
			quiet := func(c *engine.Config) {
				c.Getenv, c.LLMJudge = func(string) string { return "" }, false
			}
			virtual, _ := runnerOf(t, root, pb, engine.Replay, quiet)
			trees, _ := runnerOf(t, root, pb, engine.Replay, quiet, func(c *engine.Config) { c.Trees = true })
			for _, u := range planned.Units {
				if !cassette.Exists(virtual.CassettePath(u)) {
					continue
				}
				u.Steps = slices.DeleteFunc(slices.Clone(u.Steps), func(s plan.Step) bool {
					return action.Of(s.Uses).StartsChild
				})
				u.Evaluators = slices.DeleteFunc(slices.Clone(u.Evaluators), func(e plan.Evaluator) bool {
					return e.Config.(evaluator.Evaluator).Needs()&evaluator.StartsChild != 0
				})
				one, other := virtual.Unit(t.Context(), u, io.Discard), trees.Unit(t.Context(), u, io.Discard)
				require.Equal(t, timeless(other), timeless(one), u.ID())
				compared++
				judged += len(one.Evaluations)
			}
		}
	}
	t.Logf("%d units, %d verdicts", compared, judged)
	require.Greater(t, compared, 20)
	require.Greater(t, judged, 20)
}

// tempName is that of a unit's directory.
var tempName = regexp.MustCompile(`/w\d+/`)

// timeless is a unit's result without what differs from run to run.
func timeless(u result.Unit) result.Unit {
	u.Started, u.Duration, u.Run = u.SessionStarted, 0, nil
	u.Reason = tempName.ReplaceAllString(u.Reason, "/TEMP/")
	for i := range u.Steps {
		u.Steps[i].Duration, u.Steps[i].Reason = 0, tempName.ReplaceAllString(u.Steps[i].Reason, "/TEMP/")
	}
	for i := range u.Evaluations {
		u.Evaluations[i].Duration = 0
	}
	return u
}

const treePlaybook = `
name: bench
cases:
  - {id: task, prompt: Do it., files: {seeded/one.txt: "1\n", stock.txt: "seeded\n"}}
variants: {fake: {agent: {kind: fake-acp}, style: sdd}}
workspace: {from: src}
workflow:
  jobs:
    eval:
      strategy: {matrix: {variant: [fake]}}
      steps:
        - {uses: builtin:sdd-eval/workspace.prepare}
        - {uses: builtin:sdd-eval/sdd.prepare}
        - {uses: builtin:sdd-eval/acp.prompt}
evaluators:
  - name: files
    type: files
    expect:
      - {path: stock.txt, equals: "seeded\n"}
      - {path: AGENTS.md, contains: sdd-eval}
      - {path: new/file.txt, contains: new}
      - {path: link, contains: new}
      - {path: gone.txt, absent: true}
      - {path: dir, exists: true}
      - {path: loop, exists: true}
      - {path: dir/run.sh/x, absent: true}
      - {path: a.log, exists: true}
  - {name: fields, type: field_accuracy, file: new/data.json, fields: [{path: a, equals: 1}]}
`

// TestOverlaysOfAllShapes replays changes of all kinds with a directory and without.
func TestOverlaysOfAllShapes(t *testing.T) {
	good := []workspace.Change{
		{Path: "dir/sub", Op: workspace.Deleted, Kind: workspace.Dir},
		{Path: "dir/sub/file.txt", Op: workspace.Deleted, Kind: workspace.File},
		{Path: "gone.txt", Op: workspace.Deleted, Kind: workspace.File},
		{Path: "link", Op: workspace.Added, Kind: workspace.Symlink, Target: "new/file.txt"},
		{Path: "loop", Op: workspace.Added, Kind: workspace.Symlink, Target: "loop"},
		{Path: "new/data.json", Op: workspace.Added, Kind: workspace.File, Data: []byte(`{"a": 1}`)},
		{Path: "new/file.txt", Op: workspace.Added, Kind: workspace.File, Data: []byte("new\n")},
		{Path: "run.sh", Op: workspace.Modified, Kind: workspace.File, ModeOnly: true, Exec: true},
	}
	with := func(more ...workspace.Change) []workspace.Change {
		all := slices.Concat(good, more)
		slices.SortFunc(all, func(a, b workspace.Change) int { return strings.Compare(a.Path, b.Path) })
		return all
	}
	tests := []struct {
		name    string
		files   map[string]string
		change  func(string) string
		changes []workspace.Change
		want    string // in the reason of a unit that could not be replayed
		nowhere bool   // it needs no directory
	}{
		{name: "a good one", changes: good, nowhere: true},
		{name: "no change", nowhere: true},
		{
			name: "a log that git ignores", files: map[string]string{"src/.gitignore": "*.log\n"},
			changes: with(workspace.Change{
				Path: "a.log", Op: workspace.Added, Kind: workspace.File, Data: []byte("1"),
			}), nowhere: true,
		},
		{
			name: "a file that git does not ignore", files: map[string]string{"src/.gitignore": "*.txt\n!new/*.txt\n"},
			changes: good,
		},
		{
			name: "a file in the way",
			changes: []workspace.Change{
				{Path: "stock.txt", Op: workspace.Added, Kind: workspace.File, Data: []byte("1")},
			},
			want: "write stock.txt: openat stock.txt: file exists",
		},
		{
			name:    "a file that is gone",
			changes: []workspace.Change{{Path: "none", Op: workspace.Deleted, Kind: workspace.File}},
			want:    "delete none: not found: the workspace differs from the recorded one",
		},
		{
			name:    "a style in a directory behind a link",
			files:   map[string]string{"src/specs/x.md": "x\n"},
			changes: good,
		},
		{
			name: "prepared twice", want: "is not empty",
			change: func(s string) string {
				step := "        - {uses: builtin:sdd-eval/workspace.prepare}\n"
				return strings.Replace(s, step, step+step, 1)
			},
		},
		{
			name: "a style after the agent", changes: good,
			change: func(s string) string {
				step := "        - {uses: builtin:sdd-eval/sdd.prepare}\n"
				return strings.Replace(strings.Replace(s, step, "", 1), "evaluators:", step+"evaluators:", 1)
			},
		},
		{
			name: "no style", changes: good, nowhere: true,
			change: func(s string) string {
				return strings.Replace(s, "        - {uses: builtin:sdd-eval/sdd.prepare}\n", "", 1)
			},
		},
		{
			name: "git's own files", files: map[string]string{"src/.git/config": "x\n"}, changes: good,
			change: func(s string) string {
				return strings.Replace(s, "from: src", "from: src, include: ['.git/**']", 1)
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			files := map[string]string{"src/gone.txt": "", "src/run.sh": "#!/bin/sh\n", "src/dir/sub/file.txt": "1\n"}
			maps.Copy(files, tt.files)
			root := project(t, files)
			if strings.Contains(tt.name, "link") {
				require.NoError(t, os.Symlink("specs", filepath.Join(root, "src", "llmanspec")))
			}
			text := treePlaybook
			if tt.change != nil {
				text = tt.change(text)
			}
			recordAs(t, root, text, tt.changes)
			results := make([]result.Unit, 0, 2)
			for _, trees := range []bool{false, true} {
				runner, unit := newRunner(t, root, text, engine.Replay, func(c *engine.Config) {
					if c.Trees = trees; tt.nowhere && !trees {
						c.TempDir = filepath.Join(root, "none")
					}
				})
				results = append(results, timeless(runner.Unit(t.Context(), unit, io.Discard)))
			}
			require.Equal(t, results[1], results[0])
			if !tt.nowhere {
				runner, unit := newRunner(t, root, text, engine.Replay, func(c *engine.Config) {
					c.TempDir = filepath.Join(root, "none")
				})
				u := runner.Unit(t.Context(), unit, io.Discard)
				require.Equal(t, result.Error, u.Outcome)
				require.Contains(t, judged(u), "make the unit's directories: ")
			}
			require.Contains(t, results[0].Reason, tt.want)
			if tt.want == "" {
				require.Len(t, results[0].Evaluations, 2, results[0].Reason)
			}
		})
	}
}

// recordAs writes a cassette of the first unit in which the agent made these changes.
func recordAs(tb testing.TB, root, text string, changes []workspace.Change) {
	tb.Helper()
	path := record(tb, root, text)
	c, err := cassette.Open(disk.Tree(filepath.Dir(path)), path)
	require.NoError(tb, err)
	runner, unit := newRunner(tb, root, text, engine.Replay)
	if f, err := runner.Fingerprints(tb.Context(), unit); err == nil { // else the steps cannot be taken
		c.Header.Fingerprints = f
	}
	c.Turns[0].Delta = workspace.Delta{Changes: changes}
	require.NoError(tb, cassette.Write(disk.Tree(filepath.Dir(path)), path, c))
}

// TestKeptOverlay holds that what a run keeps of a workspace it has not written is all of it.
func TestKeptOverlay(t *testing.T) {
	root := project(t, map[string]string{
		"src/gone.txt": "", "src/run.sh": "#!/bin/sh\n", "src/dir/sub/file.txt": "1\n", "src/.gitignore": "*.log\n",
		"src/deep/repository/objects/x": "", "src/deep/repository/refs/x": "", "src/deep/repository/config": "armed",
	})
	text := strings.Replace(treePlaybook, "variants:", "  - {id: other, prompt: Do it.}\nvariants:", 1)
	text = strings.Replace(text, "  - {name: fields", "  - {required: false, name: fields", 1)
	changes := []workspace.Change{
		{Path: "binary", Op: workspace.Added, Kind: workspace.File, Data: []byte{0, 0xff}},
		{Path: "dir/sub", Op: workspace.Deleted, Kind: workspace.Dir},
		{Path: "dir/sub/file.txt", Op: workspace.Deleted, Kind: workspace.File},
		{Path: "empty", Op: workspace.Added, Kind: workspace.Dir},
		{Path: "link", Op: workspace.Added, Kind: workspace.Symlink, Target: "stock.txt"},
		{Path: "run.sh", Op: workspace.Modified, Kind: workspace.File, ModeOnly: true, Exec: true},
		{Path: "stock.txt", Op: workspace.Modified, Kind: workspace.File, Data: []byte("2\n")},
	}
	recordAs(t, root, text, changes)
	var kept []rundir.UnitDirs
	var runs []string
	var compared []*result.Changes
	for _, trees := range []bool{true, false} {
		runner, unit := newRunner(t, root, text, engine.Replay, unconfined, func(c *engine.Config) {
			c.Keep, c.Trees, c.Secrets = &engine.Keep{Below: root}, trees, new(secret.Set)
			c.Selected = func(u plan.Unit) bool { return u.Case.ID == "task" }
		})
		sunk := new(sink)
		done, err := runner.Run(t.Context(), sunk)
		require.NoError(t, err)
		require.Equal(t, result.Fail, sunk.units[0].Outcome, judged(sunk.units[0]))
		compared = append(compared, sunk.units[0].Metrics.Changes)
		kept, runs = append(kept, filesOf(t, root, done, unit)), append(runs, done.Dir)
	}
	want, err := os.ReadFile(filepath.Join(kept[0].Artifacts, rundir.Diff))
	require.NoError(t, err)
	got, err := os.ReadFile(filepath.Join(kept[1].Artifacts, rundir.Diff))
	require.NoError(t, err)
	require.Equal(t, string(want), string(got))
	require.Equal(t, compared[0], compared[1])
	require.Equal(t, []string{
		"", "/artifacts", "/artifacts/trajectory.json", "/artifacts/workspace.diff", "/artifacts/workspace.json",
	}, slices.Sorted(maps.Keys(treeOf(t, filepath.Dir(kept[1].Artifacts)))), "nothing is kept twice, and no empty log")
	text2, err := os.ReadFile(filepath.Join(kept[1].Artifacts, rundir.Workspace))
	require.NoError(t, err)
	digest, err := workspace.KeptTemplate(text2)
	require.NoError(t, err)
	list, err := os.ReadFile(filepath.Join(runs[1], rundir.TemplateList(digest)))
	require.NoError(t, err)
	again := filepath.Join(t.TempDir(), "again")
	require.NoError(t, workspace.Rebuild(t.Context(), root, list, text2, again))
	require.Equal(t, treeOf(t, kept[0].Workspace), treeOf(t, again))
	require.NoFileExists(t, filepath.Join(again, "deep/repository/config"))

	require.NoError(t, os.WriteFile(filepath.Join(root, "src/dir/run.sh"), []byte("other\n"), 0o644))
	never := filepath.Join(t.TempDir(), "never")
	err = workspace.Rebuild(t.Context(), root, list, text2, never)
	require.ErrorContains(t, err, filepath.Join(root, "src/dir/run.sh")+": it has changed since the run")
	require.NoDirExists(t, never)
	for _, tt := range []struct{ was, is, want string }{
		{`"text": "2\n"`, `"text": "3\n"`, "stock.txt is not what was kept: its digest is another"},
		{`"path": "stock.txt"`, `"path": "../stock.txt"`, "is not a path below the workspace"},
		{`"target": "stock.txt"`, `"target": "/etc"`, "may lead outside"},
		{`"version": 1`, `"version": 2`, "version 2: want 1"},
	} {
		changed := strings.Replace(string(text2), tt.was, tt.is, 1)
		require.NotEqual(t, string(text2), changed)
		require.NoError(t, os.WriteFile(filepath.Join(root, "src/dir/run.sh"), []byte("echo\n"), 0o644))
		require.ErrorContains(t, workspace.Rebuild(t.Context(), root, list, []byte(changed), never), tt.want)
		require.NoDirExists(t, never)
	}
	cut := list[:len(list)-2]
	require.Error(t, workspace.Rebuild(t.Context(), root, cut, text2, never))
	dropped := list[:strings.LastIndex(strings.TrimSuffix(string(list), "\n"), "\n")+1]
	require.ErrorContains(t, workspace.Rebuild(t.Context(), root, dropped, text2, never), "the file has changed")
}

// treeOf returns what is in a directory, with modes and contents, by path.
func treeOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		require.NoError(t, err)
		info, err := d.Info()
		require.NoError(t, err)
		text := info.Mode().String()
		switch {
		case info.Mode().IsRegular():
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			text += " " + string(data)
		case info.Mode()&os.ModeSymlink != 0:
			target, err := os.Readlink(path)
			require.NoError(t, err)
			text += " " + target
		}
		all[path[len(dir):]] = text
		return nil
	}))
	return all
}

package rundir

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/sdd-eval/sdd-eval/internal/agent"
	"github.com/sdd-eval/sdd-eval/internal/doc"
	"github.com/sdd-eval/sdd-eval/internal/plan"
	"github.com/sdd-eval/sdd-eval/internal/result"
	"github.com/sdd-eval/sdd-eval/internal/secret"
	"github.com/sdd-eval/sdd-eval/internal/testkit/soak"
)

const playbookText = "name: demo\n"

// demo returns the manifest of a run of two cases and two variants.
func demo(trials int) Manifest {
	m := Manifest{
		CreatedAt: time.Date(2026, 3, 2, 10, 15, 0, 0, time.UTC), Name: "demo", Mode: "live", Trials: trials, Need: 1,
		Tool: "sdd-eval 0.1.0", Playbook: Playbook{Path: "evals/demo.yaml"}, Jobs: []string{"build", "report"},
		Variants:   []Variant{{ID: "b"}, {ID: "a"}},
		Cases:      []Case{{ID: "one", Variants: []string{"b", "a"}}, {ID: "two", Variants: []string{"b", "a"}}},
		Evaluators: true, Judges: map[string][]string{"one": {"tests-pass"}, "two": {"tests-pass"}},
	}
	for _, c := range m.Cases {
		for _, v := range m.Variants {
			for trial := range trials {
				m.Units = append(m.Units, fmt.Sprintf("evals/demo/%s/%s/%d", c.ID, v.ID, trial+1))
			}
		}
	}
	return m
}

func newRun(t testing.TB, root string, m Manifest) *Run {
	t.Helper()
	run, err := Create(root, m, []byte(playbookText), nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, run.Close()) })
	return run
}

// unit returns the result of the unit with an id.
func unit(id string) result.Unit {
	c, v, trial := splitUnit(id)
	return result.Unit{
		ID: id, Case: c, Variant: v, Trial: trial, Outcome: result.Pass, Started: time.Unix(1772446500, 0).UTC(),
		Evaluations: []result.Evaluation{{Name: "tests-pass", Outcome: result.Pass, Score: new(1.0)}},
	}
}

func ids(units []result.Unit) []string {
	var ids []string
	for _, u := range units {
		ids = append(ids, u.ID)
	}
	return ids
}

func TestCreate(t *testing.T) {
	root := t.TempDir()
	run := newRun(t, root, demo(1))
	require.Regexp(t, `^20260302-101500-demo-[a-z2-7]{8}$`, run.ID())
	resolved, err := filepath.EvalSymlinks(root)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(resolved, ".llman", "sdd-eval", "runs", run.ID()), run.Dir())
	for _, v := range []string{"a", "b"} {
		for _, dir := range []string{"workspace", "logs", "artifacts"} {
			require.DirExists(t, filepath.Join(run.Dir(), "variants", v, dir), "before any step runs")
		}
	}
	copied, err := run.ReadFile("playbook.yaml", 100)
	require.NoError(t, err)
	require.Equal(t, playbookText, string(copied), "byte for byte")

	opened, err := Open(root, run.ID(), nil)
	require.NoError(t, err)
	require.Equal(t, run.Manifest(), opened.Manifest(), "the manifest survives being written")
	require.Equal(t, StateRunning, opened.Manifest().State, "it is locked")
	units, err := opened.Units()
	require.NoError(t, err)
	require.Empty(t, units)

	entries, err := os.ReadDir(run.Dir())
	require.NoError(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	require.Equal(t, []string{"jobs.jsonl", "manifest.json", "playbook.yaml", "results.jsonl", "variants"}, names)
}

// TestCreateBelowRelative: agents report absolute paths.
func TestCreateBelowRelative(t *testing.T) {
	root, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	t.Chdir(root)
	run := newRun(t, ".", demo(1))
	require.Equal(t, filepath.Join(root, runsDir, run.ID()), run.Dir())
}

func TestCreateTakesNoTakenID(t *testing.T) {
	root := t.TempDir()
	m := demo(1)
	m.RunID = NewID(m.CreatedAt, m.Name, "ci-7")
	first := newRun(t, root, m)
	require.Equal(t, "20260302-101500-demo-ci-7", first.ID())
	require.Equal(t, first.ID()+"-2", newRun(t, root, m).ID(), "the first is locked")
	require.NoError(t, first.Close())
	third := newRun(t, root, m)
	require.Equal(t, first.ID()+"-3", third.ID(), "an existing directory without a lock is not used either")
	require.Equal(t, third.ID(), third.Manifest().RunID)

	require.NoError(t, os.Mkdir(filepath.Join(filepath.Dir(first.Dir()), first.ID()+"-4"), 0o755))
	require.Equal(t, first.ID()+"-5", newRun(t, root, m).ID(), "an empty directory could be renamed over")
}

func TestCreateRefuses(t *testing.T) {
	var mask secret.Set
	mask.Add("API_TOKEN", "sk-"+"test-0123456789")
	tests := []struct {
		name, reason string
		change       func(*Manifest)
		playbook     string
		want         string
	}{
		{"run id upwards", "", func(m *Manifest) { m.RunID = "../x" }, "", `the run id "../x" does not match`},
		{"variant upwards", "", func(m *Manifest) { m.Variants[0].ID = ".." }, "", `variant id ".." does not match`},
		{"variant with slash", "", func(m *Manifest) { m.Variants[0].ID = "a/b" }, "", `id "a/b" does not match`},
		{"case with newline", "", func(m *Manifest) { m.Cases[0].ID = "one\n" }, "", `the case id "one\n"`},
		{"duplicate variant", "", func(m *Manifest) { m.Variants[1].ID = "b" }, "", `duplicate variant "b"`},
		{"duplicate unit", "", func(m *Manifest) { m.Units[1] = m.Units[0] }, "", `duplicate unit "evals/demo/one/b`},
		{"unit of no variant", "", func(m *Manifest) { m.Units[0] = "demo/one/c/1" }, "", `unit "demo/one/c/1": want`},
		{"unit of no trial", "", func(m *Manifest) { m.Units[0] = "demo/one/a/2" }, "", `unit "demo/one/a/2": want`},
		{"unit of two words", "", func(m *Manifest) { m.Units[0] = "demo/one" }, "", `unit "demo/one": want`},
		{"unit with odd trial", "", func(m *Manifest) { m.Units[0] = "demo/one/a/01" }, "", `"demo/one/a/01": want`},
		{
			"case id like a key", "it would be masked", func(m *Manifest) {
				m.Cases[0].ID, m.Units = "sk-"+"ant-api03-0123456789abcdef", nil
			}, "", "the id [REDACTED:key] looks like a key",
		},
		{
			"secret in the playbook", "a copy is byte for byte", func(*Manifest) {}, "name: sk-" + "test-0123456789\n",
			"the playbook evals/demo.yaml contains the value of API_TOKEN",
		},
		{
			"secret in the manifest", "",
			func(m *Manifest) { m.Variants[0].Args = []string{"sk-" + "test-0123456789"} }, "",
			"the manifest contains the value of API_TOKEN",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			m := demo(1)
			tt.change(&m)
			_, err := Create(root, m, []byte(tt.playbook), &mask)
			require.ErrorContains(t, err, tt.want, tt.reason)
			require.NotContains(t, err.Error(), "0123456789")
			require.NoDirExists(t, filepath.Join(root, ".llman"), "nothing was made")
		})
	}
}

// TestCreateFails: a run that cannot be made completely does not appear.
func TestCreateFails(t *testing.T) {
	root := t.TempDir()
	m := demo(1)
	m.Units, m.Cases, m.Judges = nil, nil, nil
	m.Variants[1].ID = strings.Repeat("x", 300) // longer than a name may be
	for range 2 {
		_, err := Create(root, m, nil, nil)
		require.ErrorContains(t, err, "create the run directory: make the unit's directories: ")
	}
	list, err := List(root)
	require.NoError(t, err)
	require.Empty(t, list)
	entries, err := os.ReadDir(filepath.Join(root, runsDir))
	require.NoError(t, err)
	require.Len(t, entries, 2, "only the locks' directory and .gitignore are left")
	locks, err := os.ReadDir(filepath.Join(root, runsDir, locksDir))
	require.NoError(t, err)
	require.Empty(t, locks, "and no lock")

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o644))
	_, err = Create(file, demo(1), nil, nil)
	require.ErrorContains(t, err, "not a directory")

	root = t.TempDir() // in which locks cannot be made
	require.NoError(t, os.MkdirAll(filepath.Join(root, runsDir), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, runsDir, locksDir), nil, 0o644))
	run, err := Create(root, demo(1), nil, nil)
	require.ErrorContains(t, err, "create the run directory: mkdir ")
	require.Nil(t, run)
}

func TestOpenRefuses(t *testing.T) {
	root := t.TempDir()
	run := newRun(t, root, demo(1))
	runs := filepath.Dir(run.Dir())
	outside := filepath.Join(root, "20260302-101500-demo-outside")
	require.NoError(t, os.CopyFS(outside, os.DirFS(run.Dir())))
	require.NoError(t, os.Symlink(outside, filepath.Join(runs, filepath.Base(outside))))
	require.NoError(t, os.CopyFS(filepath.Join(runs, run.ID()+"-copy"), os.DirFS(run.Dir())))

	tests := []struct{ name, id, want string }{
		{"empty", "", `"" is not the id of a run`},
		{"upwards", "..", `".." is not the id of a run`},
		{"upwards by a path", "../../../" + filepath.Base(outside), "is not the id of a run"},
		{"below", run.ID() + "/variants", "is not the id of a run"},
		{"absolute", run.Dir(), "is not the id of a run"},
		{"backslash", `20260302-101500-x\..\y`, "is not the id of a run"},
		{"newline", run.ID() + "\n", "is not the id of a run"},
		{"NUL", run.ID() + "\x00", "is not the id of a run"},
		{"locks", locksDir, "is not the id of a run"},
		{"link to elsewhere", filepath.Base(outside), "there is no run 20260302-101500-demo-outside"},
		{"unknown", "20260302-101500-demo-x", "there is no run 20260302-101500-demo-x: the newest are "},
		{"copy under another name", run.ID() + "-copy", `belongs to the run "` + run.ID() + `"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Open(root, tt.id, nil)
			require.ErrorContains(t, err, tt.want)
			_, err = Resume(root, tt.id, nil)
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err := Open(root, "20260302-101500-demo-x", nil)
	require.ErrorContains(t, err, run.ID(), "the newest run is named")
	_, err = Open(t.TempDir(), run.ID(), nil)
	require.ErrorContains(t, err, "there is no run "+run.ID()+": there are no runs yet")
}

func TestManifestIsChecked(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"cut", "{\n\"version\": 1,\n", "manifest.json:2: the text is incomplete: unexpected EOF"},
		{"wrong type", "{\"version\": 2,\n\"trials\": \"x\"}", "manifest.json:2: json: cannot unmarshal string"},
		{"duplicate key", "{\"version\": 1,\n\"version\": 1}", `manifest.json:2: duplicate key "version"`},
		{"newer", `{"version": 3, "trials": "x"}`, "manifest.json: version 3; this program reads version 2"},
		{"older", `{"version": 1}`, "manifest.json: version 1; this program reads version 2"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			root := t.TempDir()
			run := newRun(t, root, demo(1))
			text := strings.ReplaceAll(tt.text, "ID", run.ID())
			require.NoError(t, os.WriteFile(filepath.Join(run.Dir(), "manifest.json"), []byte(text), 0o644))
			_, err := Open(root, run.ID(), nil)
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestManifestOf(t *testing.T) {
	text := `
name: demo
trials: {count: 2}
variants:
  v: {style: sdd, agent: {kind: claude-cli, preset: mine, model: m}}
  w: {style: sdd, agent: {kind: acp, command: agent, args: [-x]}}
cases:
  - {id: one, prompt: p, evaluators: [{name: e, type: check}]}
  - {id: two, prompts: [q, r], expected_outcome: o, reference_answer: a}
workflow:
  jobs:
    build: {steps: [{run: make}]}
    ask: {needs: [build], strategy: {matrix: {variant: [v, w]}}, steps: [{uses: builtin:sdd-eval/acp.prompt}]}
`
	check := plan.Kind{Keys: struct{}{}, Decode: func(*doc.Node) any { return nil }}
	pb, err := plan.Read(plan.Source{Path: "/p/p.yaml", Root: "/p", Data: []byte(text)}, plan.Kinds{"check": check})
	require.NoError(t, err)
	p, err := pb.Plan()
	require.NoError(t, err)
	m := ManifestOf(p)
	require.Equal(t, "demo", m.Name)
	require.Equal(t, 2, m.Trials)
	require.Equal(t, []string{"build"}, m.Jobs)
	require.Len(t, m.Units, 8)
	require.True(t, m.Evaluators, "one case has some")
	require.Equal(t, map[string][]string{"one": {"e"}, "two": {}}, m.Judges)
	for i := range m.Cases {
		require.Equal(t, []string{"evaluators", "files", "prompts"}, slices.Sorted(maps.Keys(m.Cases[i].Digests)))
	}
	require.NotEqual(t, m.Cases[0].Digests["prompts"], m.Cases[1].Digests["prompts"])
	require.Equal(t, m.Cases[0].Digests["files"], m.Cases[1].Digests["files"], "none")
	for i := range m.Cases {
		m.Cases[i].Digests = nil
	}
	require.Equal(t, []Case{
		{ID: "one", Title: "one", Variants: []string{"v", "w"}, Prompts: []string{"p"}},
		{
			ID: "two", Title: "two", Variants: []string{"v", "w"}, Prompts: []string{"q", "r"}, ExpectedOutcome: "o",
			ReferenceAnswer: "a",
		},
	}, m.Cases)
	require.NotEmpty(t, m.Variants[0].Given)
	require.Equal(t, m.Variants[0].Given, m.Variants[1].Given, "the same steps")
	m.Variants[0].Given, m.Variants[1].Given = "", ""
	require.Equal(t, Variant{ID: "w", Kind: "acp", Command: "agent", Args: []string{"-x"}}, m.Variants[1])
	profile, ok := agent.Lookup("claude-cli")
	require.True(t, ok)
	require.Equal(t, Variant{
		ID: "v", Kind: "claude-cli", Preset: "mine", Model: "m",
		Command: profile.Command, Args: profile.Arguments(nil, ""),
	}, m.Variants[0])

	const ask = "{uses: builtin:sdd-eval/acp.prompt}"
	text = strings.Replace(text, ask, "{uses: builtin:sdd-eval/sdd.prepare}, "+ask, 1)
	pb, err = plan.Read(plan.Source{Path: "/p/p.yaml", Root: "/p", Data: []byte(text)}, plan.Kinds{"check": check})
	require.NoError(t, err)
	p, err = pb.Plan()
	require.NoError(t, err)
	require.Equal(t, "sdd", ManifestOf(p).Variants[0].Style, "a step writes it")
}

func TestGiven(t *testing.T) {
	text := `name: demo
sdd_loop: {max_iterations: 2}
variants:
  v: {style: sdd, prompt_prefix: a, agent: {kind: acp, command: agent}}
task: {title: t, prompt: p}
evaluators: [{name: e, type: check}]
workflow:
  jobs:
    ask:
      strategy: {matrix: {variant: [v]}}
      steps:
        - {run: make it, cwd: d}
        - {uses: builtin:sdd-eval/workspace.prepare}
        - {uses: builtin:sdd-eval/acp.sdd-loop}
`
	given := func(edits ...string) string {
		check := plan.Kind{Keys: struct{}{}, Decode: func(*doc.Node) any { return nil }}
		edited := strings.NewReplacer(edits...).Replace(text)
		require.True(t, len(edits) == 0 || edited != text, "%q is not there", edits)
		pb, err := plan.Parse("p.yaml", []byte(edited), plan.Kinds{"check": check})
		require.NoError(t, err)
		p, err := pb.Plan()
		require.NoError(t, err)
		return ManifestOf(p).Variants[0].Given
	}
	for _, same := range [][]string{
		{"name: demo", "name: other\n"},
		{"name: e", "name: f"},
		{"prompt: p", "prompt: q"},
		{"command: agent", "command: other"},
		{"{run: make", "{name: n, run: make"},
	} {
		require.Equal(t, given(), given(same...), same)
	}
	for _, other := range [][]string{
		{"style: sdd", "style: sdd-legacy"},
		{"prompt_prefix: a", "prompt_prefix: b"},
		{"prompt_prefix: a", "prompt_suffix: a"},
		{"make it", "make that"},
		{"cwd: d", "cwd: e"},
		{"title: t", "title: s"},
		{"max_iterations: 2", "max_iterations: 3"},
		{"acp.sdd-loop", "acp.prompt"},
		{"{uses: builtin:sdd-eval/acp.sdd-loop}", "{uses: builtin:sdd-eval/acp.sdd-loop}\n        - {run: make}"},
	} {
		require.NotEqual(t, given(), given(other...), other)
	}
}

func TestManifestOfTask(t *testing.T) {
	for title, want := range map[string]string{"": "task", "title: Sums, ": "Sums"} {
		pb, err := plan.Parse("p.yaml", []byte("task: {"+title+"prompt: p}\n"+
			"variants: {v: {style: sdd, agent: {kind: acp, command: agent}}}\n"+
			"workflow: {jobs: {j: {strategy: {matrix: {variant: [v]}}, "+
			"steps: [{uses: builtin:sdd-eval/acp.prompt}]}}}\n"), nil)
		require.NoError(t, err)
		p, err := pb.Plan()
		require.NoError(t, err)
		m := ManifestOf(p)
		m.Cases[0].Digests = nil
		require.Equal(t, []Case{{ID: "task", Title: want, Variants: []string{"v"}, Prompts: []string{"p"}}}, m.Cases)
		require.False(t, ManifestOf(p).Evaluators)
	}
}

func TestFinishFails(t *testing.T) {
	run := newRun(t, t.TempDir(), demo(1))
	require.NoError(t, os.Remove(filepath.Join(run.Dir(), "manifest.json")))
	require.NoError(t, os.MkdirAll(filepath.Join(run.Dir(), "manifest.json", "x"), 0o755))
	require.ErrorContains(t, run.Finish(StateFinished), "finish run "+run.ID()+": ")

	require.NoError(t, os.RemoveAll(run.Dir()))
	require.ErrorIs(t, run.WriteFile("report.md", nil), fs.ErrNotExist)
}

// TestManifestTooLarge: what nobody could read is not written.
func TestManifestTooLarge(t *testing.T) {
	if soak.Raced() {
		return
	}
	root := t.TempDir()
	m := demo(1)
	m.Cases[0].Title = strings.Repeat("x", maxFile)
	_, err := Create(root, m, nil, nil)
	require.ErrorContains(t, err, "manifest.json: ")
	require.NoDirExists(t, filepath.Join(root, ".llman"), "nothing was made")

	run := newRun(t, root, demo(1))
	require.ErrorContains(t, run.Finish(StateFinished, m.Cases[0].Title), "exceed the limit")
	opened, err := Open(root, run.ID(), nil)
	require.NoError(t, err, "the manifest stays")
	require.Equal(t, StateRunning, opened.Manifest().State)
}

// TestBrokenProject: a project whose runs cannot be read is not one without runs.
func TestBrokenProject(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, ".llman"), nil, 0o644))
	_, err := Open(root, "20260302-101500-demo-x", nil)
	require.Error(t, err)
	require.NotContains(t, err.Error(), "there is no run")

	root = t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, runsDir), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, runsDir, locksDir), nil, 0o644))
	_, err = Clean(root, 0)
	require.ErrorContains(t, err, "clean runs: ", "locks cannot be listed")
}

func TestUnitsAreInOrder(t *testing.T) {
	root := t.TempDir()
	m := demo(1)
	run := newRun(t, root, m)
	for _, i := range []int{3, 0, 2} {
		require.NoError(t, run.Append(unit(m.Units[i])))
	}
	require.NoError(t, run.AppendJob(result.Job{ID: "report", Outcome: result.Fail}))
	require.NoError(t, run.AppendJob(result.Job{ID: "build", Outcome: result.Completed}))
	opened, err := Open(root, run.ID(), nil)
	require.NoError(t, err)
	units, err := opened.Units()
	require.NoError(t, err)
	require.Equal(t, []string{m.Units[0], m.Units[2], m.Units[3]}, ids(units))
	jobs, err := opened.Jobs()
	require.NoError(t, err)
	require.Equal(t, []result.Job{{ID: "build", Outcome: result.Completed}, {ID: "report", Outcome: result.Fail}}, jobs)
	require.Empty(t, opened.Notes())
}

func TestAppendRefuses(t *testing.T) {
	m := demo(1)
	run := newRun(t, t.TempDir(), m)
	run.mask = new(secret.Set)
	run.mask.Add("STATE", "completed")
	require.NoError(t, run.Append(unit(m.Units[0])))
	unknown, moved, open, masked := unit("evals/demo/one/a/2"), unit(m.Units[1]), unit(m.Units[1]), unit(m.Units[1])
	moved.Case, open.Outcome, masked.Outcome = "two", "", "[REDACTED:STATE]"
	late := unit(m.Units[1])
	late.Started = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	tests := []struct {
		name string
		unit result.Unit
		want string
	}{
		{"twice", unit(m.Units[0]), "it already has a result"},
		{"of another run", unknown, "it is not in the run"},
		{"another case", moved, `has case "two", variant "a", trial 1`},
		{"not ended", open, `unknown outcome ""`},
		{"masked", masked, "unknown outcome"},
		{"at a time that JSON does not have", late, "year outside of range"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			err := run.Append(tt.unit)
			require.ErrorContains(t, err, tt.want)
			require.ErrorContains(t, err, "write the result of unit "+tt.unit.ID+" to "+run.Dir())
		})
	}
	require.NoError(t, run.Append(unit(m.Units[1])), "the unit can still end")
	require.ErrorContains(t, run.AppendJob(result.Job{ID: "other", Outcome: result.Pass}), "it is not in the run")
	require.ErrorContains(t, run.AppendJob(result.Job{ID: "build"}), `unknown outcome ""`)
	require.ErrorContains(t, run.AppendJob(result.Job{
		ID: "build", Outcome: result.Pass, Steps: []result.Step{{Name: "make", Outcome: result.Fail}},
	}), `that of its step "make" is "fail"`)

	opened, err := Open(filepath.Join(run.Dir(), "..", "..", "..", ".."), run.ID(), nil)
	require.NoError(t, err)
	require.Panics(t, func() { _ = opened.Append(unit(m.Units[2])) }, "the run is not locked")
	require.PanicsWithValue(t, "rundir: AppendJob needs a run from Create or Resume: this one was opened for reading",
		func() { _ = opened.AppendJob(result.Job{ID: "build", Outcome: result.Pass}) })
}

func TestAppendMasks(t *testing.T) {
	const token = "sk-" + "test-0123456789"
	root := t.TempDir()
	var mask secret.Set
	mask.Add("API_TOKEN", token)
	m := demo(1)
	run, err := Create(root, m, nil, &mask)
	require.NoError(t, err)
	defer func() { require.NoError(t, run.Close()) }()
	u := unit(m.Units[0])
	u.Reason = "the agent printed " + token
	require.NoError(t, run.Append(u))
	require.NoError(t, run.AppendJob(result.Job{ID: "build", Outcome: result.Fail, Reason: token}))
	require.NoError(t, run.WriteFile("report.json", []byte(`{"text": "`+token+`"}`)))
	require.NoError(t, run.WriteFile("variants/a/logs/stderr.txt", []byte(token)))
	require.NoError(t, run.WriteFile("log.jsonl", []byte(`{"text": "sk-`+`test\u002d0123456789"}`+"\n{}\n")))
	log, err := run.ReadFile("log.jsonl", 100)
	require.NoError(t, err)
	require.NotContains(t, string(log), "0123456789", "a secret with escapes in it")
	require.NoError(t, run.Finish(StateFinished))
	require.NoError(t, filepath.WalkDir(run.Dir(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		require.NotContains(t, string(data), token, path)
		return err
	}))
	units, err := run.Units()
	require.NoError(t, err)
	require.Equal(t, "the agent printed [REDACTED:API_TOKEN]", units[0].Reason)
}

// TestAppendTogether appends from many goroutines: each line is in the file when Append returns.
func TestAppendTogether(t *testing.T) {
	m := demo(50)
	root := t.TempDir()
	run := newRun(t, root, m)
	var group sync.WaitGroup
	for _, id := range m.Units {
		group.Go(func() {
			if err := run.Append(unit(id)); err != nil {
				t.Error(err)
				return
			}
			data, err := os.ReadFile(filepath.Join(run.Dir(), "results.jsonl"))
			if err != nil || !strings.Contains(string(data), fmt.Sprintf(`{"unit":%q,`, id)) {
				t.Errorf("Append returned, and %s has no line (%v)", id, err)
			}
			if err := run.Append(unit(id)); err == nil {
				t.Errorf("%s was appended twice", id)
			}
		})
	}
	group.Wait()
	units, err := run.Units()
	require.NoError(t, err)
	require.Equal(t, m.Units, ids(units))
	require.Empty(t, run.Notes())
}

func TestFinish(t *testing.T) {
	root := t.TempDir()
	run := newRun(t, root, demo(1))
	require.Panics(t, func() { _ = run.Finish(StateRunning) })
	require.NoError(t, run.Finish(StateInterrupted))
	require.Nil(t, run.Manifest().FinishedAt)
	require.Empty(t, run.Manifest().Problems)
	require.NoError(t, run.Finish(StateFinished))
	require.NoError(t, run.Close())
	require.NoError(t, run.Close(), "it may be called again")
	opened, err := Open(root, run.ID(), nil)
	require.NoError(t, err)
	require.Equal(t, StateFinished, opened.Manifest().State)
	require.WithinDuration(t, time.Now(), *opened.Manifest().FinishedAt, time.Minute)
	require.Panics(t, func() { _ = opened.Finish(StateFinished) })
	require.NoError(t, opened.Close())
}

// TestFinishProblems: problems outlive a resumption, each once.
func TestFinishProblems(t *testing.T) {
	root := t.TempDir()
	key := "sk-" + "test-not-a-real-key-1234"
	mask := new(secret.Set)
	mask.Add("KEY", key)
	run, err := Create(root, demo(1), []byte(playbookText), mask)
	require.NoError(t, err)
	require.NoError(t, run.Finish(StateInterrupted, "a secret was found in jobs.jsonl", "and "+key))
	before := run.Manifest()
	require.NoError(t, run.Close())
	again, err := Resume(root, run.ID(), mask)
	require.NoError(t, err)
	require.NoError(t, again.Finish(StateFinished, "and "+key, "one more", "one more"))
	require.NoError(t, again.Close())
	opened, err := Open(root, run.ID(), nil)
	require.NoError(t, err)
	masked := mask.String("and " + key)
	require.NotContains(t, masked, key)
	require.Equal(t, []string{"a secret was found in jobs.jsonl", masked, "one more"}, opened.Manifest().Problems)
	require.Len(t, before.Problems, 2, "a manifest that was returned does not change")
	list, err := List(root)
	require.NoError(t, err)
	require.Equal(t, 3, list[0].Problems)
}

func TestFiles(t *testing.T) {
	root := t.TempDir()
	run := newRun(t, root, demo(1))
	require.NoError(t, run.WriteFile("a/b/c.txt", []byte("one")))
	require.NoError(t, run.WriteFile("a/b/c.txt", []byte("two")))
	data, err := run.ReadFile("a/b/c.txt", 3)
	require.NoError(t, err)
	require.Equal(t, "two", string(data))
	entries, err := os.ReadDir(filepath.Join(run.Dir(), "a", "b"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "no temporary file stays")
	_, err = run.ReadFile("a/b/c.txt", 2)
	require.ErrorContains(t, err, "read a/b/c.txt: 3 bytes exceed the limit of 2")
	_, err = run.ReadFile("none", 2)
	require.ErrorIs(t, err, fs.ErrNotExist)
	_, err = run.ReadFile("a", 2)
	require.ErrorContains(t, err, "not a regular file")

	require.ErrorContains(t, run.WriteFile("a", nil), "write a: ", "a directory is no file")
	require.ErrorContains(t, run.WriteFile("a/b/c.txt/d", nil), "write a/b/c.txt/d: ", "a file is no directory")
	entries, err = os.ReadDir(run.Dir())
	require.NoError(t, err)
	for _, e := range entries {
		require.False(t, strings.HasPrefix(e.Name(), "."), "the temporary file %s stays", e.Name())
	}

	for _, name := range []string{"", ".", "..", "../x", "/x", "a/../../x", "a//b", "a/", "./a"} {
		require.ErrorContains(t, run.WriteFile(name, nil), "not the path of a file", name)
		_, err := run.ReadFile(name, 1)
		require.ErrorContains(t, err, "not the path of a file", name)
	}
	if runtime.GOOS == "windows" {
		return
	}
	outside := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(outside, "x"), []byte("theirs"), 0o644))
	require.NoError(t, os.Symlink(outside, filepath.Join(run.Dir(), "link")))
	require.NoError(t, os.Symlink(filepath.Join(outside, "x"), filepath.Join(run.Dir(), "x")))
	require.ErrorContains(t, run.WriteFile("link/x", []byte("ours")), "is a symbolic link")
	_, err = run.ReadFile("link/x", 100)
	require.ErrorContains(t, err, "is a symbolic link")
	require.NoError(t, run.WriteFile("x", []byte("ours")), "a link is replaced")
	theirs, err := os.ReadFile(filepath.Join(outside, "x"))
	require.NoError(t, err)
	require.Equal(t, "theirs", string(theirs), "and never followed")
}

func TestUnitDirs(t *testing.T) {
	tests := []struct {
		name   string
		cases  []Case
		trials int
		want   string
	}{
		{"one case and trial", []Case{{ID: "task"}}, 1, "variants/a"},
		{"trials", []Case{{ID: "task"}}, 2, "variants/a/cases/task/1"},
		{"cases", []Case{{ID: "other"}, {ID: "task"}}, 1, "variants/a/cases/task/1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			run := newRun(t, t.TempDir(), Manifest{
				Name: "x", Variants: []Variant{{ID: "a"}}, Cases: tt.cases, Trials: tt.trials, Need: 1, Mode: "live",
			})
			base := filepath.Join(run.Dir(), filepath.FromSlash(tt.want))
			dirs, err := run.MakeUnitDirs("task", "a", 1)
			require.NoError(t, err)
			require.Equal(t, run.UnitDirs("task", "a", 1), dirs)
			require.Equal(t, len(tt.cases) > 1, dirs.OfCase)
			if dirs.OfCase {
				require.NoDirExists(t, dirs.Workspace, "a replay may need none")
				require.NoDirExists(t, dirs.Logs)
				require.NoError(t, run.MakeDirs(dirs))
			}
			for dir, got := range map[string]string{
				"workspace": dirs.Workspace, "logs": dirs.Logs, "artifacts": dirs.Artifacts,
			} {
				require.Equal(t, filepath.Join(base, dir), got)
				if name := map[string]string{"logs": SessionLog, "artifacts": Diff}[dir]; name != "" {
					require.Equal(t, tt.want+"/"+dir+"/"+name, dirs.File(name))
				}
				require.DirExists(t, got)
				require.DirExists(t, filepath.Join(run.Dir(), "variants", "a", dir), "the three base folders stay")
			}
			require.Panics(t, func() { run.UnitDirs("..", "a", 1) })
			require.Panics(t, func() { run.UnitDirs("task", "a", tt.trials+1) })
		})
	}
}

func TestNewID(t *testing.T) {
	now := time.Date(2026, 3, 2, 10, 15, 0, 0, time.FixedZone("", 3600))
	tests := []struct{ name, reason, title, last, want string }{
		{"plain", "the time is in UTC", "demo", "", `^20260302-091500-demo-[a-z2-7]{8}$`},
		{"named", "", "demo", "ci_7-x", `^20260302-091500-demo-ci_7-x$`},
		{"unsafe name", "", "../a b/Ü.x\n", "s", `^20260302-091500-a-b-x-s$`},
		{"no name", "", "..", "s", `^20260302-091500-run-s$`},
		{"long name", "", strings.Repeat("x", 500), "s", `^20260302-091500-x{60}-s$`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			id := NewID(now, tt.title, tt.last)
			require.Regexp(t, tt.want, id, tt.reason)
			require.Regexp(t, runID, id)
		})
	}
}
